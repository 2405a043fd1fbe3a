//! What is held against what, without the means to run it: with the runs, that makes the report.

use harness::plan::Plan;
use harness::scenario::Level;
use serde::{Deserialize, Serialize};

use super::Reach;
use super::record::Trial;
use crate::defects::Defect;

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
    /// Whether the case is there for the defect.
    pub(super) fn is_named(&self, trial: &Trial) -> bool {
        is_named(&self.defects, trial)
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

/// Whether the case of a run is there for its defect.
pub(super) fn is_named(defects: &[Defect], trial: &Trial) -> bool {
    let mut defects = defects.iter();
    defects.any(|defect| Some(&defect.name) == trial.defect.as_ref() && defect.names(&trial.case))
}
