//! The defects and cases of a self-test as data, without the means to run them. The report is created from this scope and the results.

use serde::{Deserialize, Serialize};
use suites::harness::plan::Plan;
use suites::harness::scenario::Level;

use super::Pairing;
use suites::Defect;

/// The defects and the cases of a self-test.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope {
    /// The defects that the command line selects.
    pub defects: Vec<Defect>,
    /// The cases that the command line selects, reduced to what the report needs.
    pub cases: Vec<CaseSummary>,
    /// Whether all cases and all defects are selected. If so, a defect that no case detects is a problem.
    pub is_whole: bool,
    /// Which cases run with each defect.
    pub pairing: Pairing,
    /// Name of the manifest of the programs under test; `None` for the references.
    pub sut: Option<String>,
}

/// The properties of a case that the report needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseSummary {
    /// Id of the case.
    pub id: String,
    /// Path of the case file.
    pub file: String,
    /// Level of the case: core, extended or provisional.
    pub level: Level,
    /// Requirements that the case verifies.
    pub requirements: Vec<String>,
}

impl Scope {
    /// Whether the catalogue of defects lists the case for the defect.
    pub(super) fn is_named(&self, case: &str, defect: &str) -> bool {
        is_named(&self.defects, case, defect)
    }
}

impl CaseSummary {
    pub(super) fn of(plan: &Plan) -> Self {
        CaseSummary {
            id: plan.id().to_owned(),
            file: plan.source.clone(),
            level: plan.level,
            requirements: plan.requirements.clone(),
        }
    }
}

/// Whether the catalogue lists the case for the defect with the name `defect`.
pub(super) fn is_named(defects: &[Defect], case: &str, defect: &str) -> bool {
    defects.iter().any(|it| it.name == defect && it.lists_case(case))
}
