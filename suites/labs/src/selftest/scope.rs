//! What is held against what, without the means to run it: with the runs, that makes the report.

use serde::{Deserialize, Serialize};
use suites::harness::plan::Plan;
use suites::harness::scenario::Level;

use super::Reach;
use suites::Defect;

/// The defects and the cases of a self-test.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope {
    /// The defects that were asked for.
    pub defects: Vec<Defect>,
    /// The cases that were asked for.
    pub cases: Vec<Subject>,
    /// Whether those are all cases and all defects there are, so that something can be said about each of them.
    pub is_whole: bool,
    /// How many pairs of them.
    pub reach: Reach,
    /// The manifest of the programs that play the broken role, if they are not the references.
    pub sut: Option<String>,
}

/// What a report says of a case beside how its runs ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its id.
    pub id: String,
    /// Its file.
    pub file: String,
    /// core, extended or provisional.
    pub level: Level,
    /// What it requires.
    pub requirements: Vec<String>,
}

impl Scope {
    /// Whether a case is there for a defect.
    pub(super) fn is_named(&self, case: &str, defect: &str) -> bool {
        is_named(&self.defects, case, defect)
    }
}

impl Subject {
    pub(super) fn of(plan: &Plan) -> Self {
        Subject {
            id: plan.id().to_owned(),
            file: plan.source.clone(),
            level: plan.level,
            requirements: plan.requirements.clone(),
        }
    }
}

/// Whether a case is there for one of these defects.
pub(super) fn is_named(defects: &[Defect], case: &str, defect: &str) -> bool {
    defects.iter().any(|it| it.name == defect && it.names(case))
}
