//! The catalogue of defects: injectable faults of the references, the bug report or requirement that each defect is modelled on, and the
//! cases that must detect the defect.
//!
//! Data only: the crate that registers the references injects the defects.

use std::collections::{BTreeMap, BTreeSet};

use harness::interposer::WireRule;
use harness::manifest::FailurePattern;
use harness::scenario::Role;
use serde::Deserialize;

use crate::select::matches_id;

/// A fault that can be injected into a reference, the API server or the driver.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defect {
    /// Name on the command line, such as `publisher-ignores-maximum`. The part before the first `-` is the broken component.
    pub name: String,
    /// What the broken component does, in one sentence with the subject "it".
    pub text: String,
    /// Ids of the requirements that the defect violates. A case for one of them must be able to fail because of the defect.
    pub violates: BTreeSet<String>,
    /// The bug report that the defect is modelled on; `None` if the defect is derived from requirements only.
    pub source: Option<String>,
    /// How the traffic of a correct program is manipulated to show the defect; empty if source code, the API server or the driver is
    /// changed instead.
    #[serde(default)]
    pub wire: Vec<WireRule>,
    /// Cases that must detect the defect, each with a pattern for the first missing link of the causal chain in its failure.
    pub claims: BTreeMap<String, FailurePattern>,
    /// Cases, or prefixes of case ids, that are expected to detect the defect, in addition to the cases of `claims`.
    #[serde(default)]
    pub cases: Vec<String>,
}

impl Defect {
    /// The role of the broken program; `None` if the driver or the API server is broken, which take part in every case.
    pub fn role(&self) -> Option<Role> {
        let broken = self.name.split('-').next();
        let roles = [Role::Publisher, Role::Scheduler, Role::Cleaner];
        roles.into_iter().find(|role| Some(role.as_str()) == broken)
    }

    /// What the defect is modelled on: the violated requirements, and the bug report, if any.
    pub fn origin(&self) -> String {
        let ids = self.violates.iter().map(String::as_str);
        ids.chain(self.source.as_deref()).collect::<Vec<_>>().join(", ")
    }

    /// Whether the defect lists the case under `claims` or `cases`.
    pub fn lists_case(&self, case: &str) -> bool {
        self.claims.contains_key(case) || self.cases.iter().any(|name| matches_id(name, case))
    }
}

/// Returns the names of the mutants whose code a run executed. Called after the run.
pub type ExecutedMutants = Box<dyn Fn() -> BTreeSet<&'static str> + Send + Sync>;

/// All defects, in catalogue order.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Defects(Vec<Defect>);

impl Defects {
    /// The defect catalogue of this repository.
    pub fn load() -> Self {
        let text = include_str!("../defects.yaml");
        serde_saphyr::from_str(text).expect("embedded catalogue is valid")
    }

    /// All defects.
    pub fn iter(&self) -> impl Iterator<Item = &Defect> {
        self.0.iter()
    }

    /// The defect of this name.
    pub fn get(&self, name: &str) -> Option<&Defect> {
        self.0.iter().find(|defect| defect.name == name)
    }
}
