//! Which requirement is shown by what: the catalogue, joined with the cases that name its ids.

use std::collections::BTreeMap;

use harness::plan::Plan;

use crate::Catalogue;

/// The cases of each requirement.
pub struct Traceability<'p> {
    catalogue: &'static Catalogue,
    cases: BTreeMap<&'p str, Vec<&'p Plan>>,
}

/// Whether a requirement is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// A case names it, or something else shows it.
    Shown,
    /// It asks nothing of a program, and the catalogue says why.
    Reason,
    /// Nothing shows it yet.
    Missing,
}

impl<'p> Traceability<'p> {
    /// Of these cases.
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

    /// The cases that name it, in their order.
    pub fn cases(&self, id: &str) -> &[&'p Plan] {
        self.cases.get(id).map_or(&[], Vec::as_slice)
    }

    /// Whether it is shown; of an id that the catalogue does not have nothing can be.
    pub fn standing(&self, id: &str) -> Standing {
        let entry = self.catalogue.entry(id);
        if !self.cases(id).is_empty() || entry.is_some_and(|entry| !entry.shown_by.is_empty()) {
            return Standing::Shown;
        }
        match entry.is_some_and(|entry| entry.reason.is_some()) {
            true => Standing::Reason,
            false => Standing::Missing,
        }
    }

    /// How many of these stand like that.
    pub fn count<'i>(&self, ids: impl IntoIterator<Item = &'i str>, standing: Standing) -> usize {
        ids.into_iter().filter(|id| self.standing(id) == standing).count()
    }
}
