//! Maps each requirement to its evidence: joins the catalogue with the cases that name the requirements.

use std::collections::BTreeMap;

use harness::plan::Plan;

use crate::Catalogue;

/// The cases of each requirement.
pub struct Traceability<'p> {
    catalogue: &'static Catalogue,
    cases: BTreeMap<&'p str, Vec<&'p Plan>>,
}

/// Whether a requirement has evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceStatus {
    /// A case or other evidence verifies the requirement.
    Verified,
    /// No test can verify the requirement; the catalogue contains the reason.
    NotTestable,
    /// The requirement has no evidence yet.
    Missing,
}

impl<'p> Traceability<'p> {
    /// Collects the requirements that these cases verify.
    pub fn new(plans: &'p [Plan]) -> Self {
        let mut cases: BTreeMap<&str, Vec<&Plan>> = BTreeMap::new();
        for plan in plans {
            for id in &plan.requirements {
                cases.entry(id).or_default().push(plan);
            }
        }
        Traceability {
            catalogue: Catalogue::load(),
            cases,
        }
    }

    /// The cases of a requirement, in order.
    pub fn cases(&self, id: &str) -> &[&'p Plan] {
        self.cases.get(id).map_or(&[], Vec::as_slice)
    }

    /// Whether a requirement has evidence. An unknown id has none.
    pub fn status(&self, id: &str) -> EvidenceStatus {
        let entry = self.catalogue.entry(id);
        if !self.cases(id).is_empty() || entry.is_some_and(|entry| !entry.shown_by.is_empty()) {
            return EvidenceStatus::Verified;
        }
        match entry.is_some_and(|entry| entry.reason.is_some()) {
            true => EvidenceStatus::NotTestable,
            false => EvidenceStatus::Missing,
        }
    }

    /// The number of requirements with this status.
    pub fn count<'i>(&self, ids: impl IntoIterator<Item = &'i str>, status: EvidenceStatus) -> usize {
        ids.into_iter().filter(|id| self.status(id) == status).count()
    }
}
