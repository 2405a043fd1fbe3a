//! Whether a case that names a requirement can fail by it: some defect violates that requirement, and the case catches that defect.

use std::collections::BTreeMap;

use harness::plan::Plan;
use harness::scenario::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseBite, Selftest};
use crate::defects::Defect;

/// How many of the requirements that cases name were broken while they watched; each counts once for each case that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Broken {
    /// All.
    pub named: usize,
    /// Those that were violated by a defect that the case caught.
    pub broken: usize,
    /// The others of core cases.
    pub unbroken_core: usize,
}

/// Puts down in each case which of its requirements no defect violates that it caught, and counts.
pub(super) fn broken(selftest: &Selftest, cases: &mut [CaseBite]) -> Broken {
    let defects = selftest.defects.iter();
    let defects: BTreeMap<&str, &Defect> = defects.map(|defect| (defect.name.as_str(), defect)).collect();
    let plans = selftest.plans.iter();
    let plans: BTreeMap<&str, &Plan> = plans.map(|plan| (plan.id(), &**plan)).collect();
    let mut counted = Broken {
        named: 0,
        broken: 0,
        unbroken_core: 0,
    };
    for case in cases {
        let Some(plan) = plans.get(case.id.as_str()) else {
            continue;
        };
        let caught = case.caught.iter().filter_map(|name| defects.get(name.as_str()));
        let caught: Vec<&Defect> = caught.copied().collect();
        let is_open = |id: &&String| !caught.iter().any(|defect| defect.violates.contains(*id));
        case.unbroken = plan.requirements.iter().filter(is_open).cloned().collect();
        counted.named += plan.requirements.len();
        counted.broken += plan.requirements.len() - case.unbroken.len();
        if plan.level == Level::Core {
            counted.unbroken_core += case.unbroken.len();
        }
    }
    counted
}
