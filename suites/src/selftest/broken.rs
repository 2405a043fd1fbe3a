//! Whether a case that names a requirement can fail by it: some defect violates that requirement, and the case catches that defect.

use harness::plan::Plan;
use harness::scenario::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defects::Defect;

/// How many of the requirements that cases name were broken while they watched; each counts once for each case that names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Broken {
    /// All.
    pub named: usize,
    /// Those that were violated by a defect that the case caught.
    pub broken: usize,
    /// The others of core cases.
    pub unbroken_core: usize,
}

impl Broken {
    /// Counts a case, of whose requirements so many were not broken.
    pub(super) fn add(&mut self, plan: &Plan, unbroken: usize) {
        self.named += plan.requirements.len();
        self.broken += plan.requirements.len() - unbroken;
        if plan.level == Level::Core {
            self.unbroken_core += unbroken;
        }
    }
}

/// The requirements of a case that none of the defects violates that it caught.
pub(super) fn unbroken(plan: &Plan, caught: &[&Defect]) -> Vec<String> {
    let is_open = |id: &&String| !caught.iter().any(|defect| defect.violates.contains(*id));
    plan.requirements.iter().filter(is_open).cloned().collect()
}
