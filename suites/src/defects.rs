//! The catalogue of defects: what the references can be made to do wrong, after which report or requirement, and which cases are there
//! to catch it.
//!
//! Only data. How a defect is switched on is the business of whoever registers the references.

use std::collections::{BTreeMap, BTreeSet};

use harness::interposer::WireRule;
use harness::manifest::Words;
use harness::scenario::Role;
use serde::Deserialize;

use crate::select::is_meant;

/// One way of being wrong that the cases are held against.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defect {
    /// Its name on the command line; what comes before the first `-` is what is broken.
    pub name: String,
    /// What it does, in one sentence about "it".
    pub text: String,
    /// The requirements that it violates: a case that names one of them must be able to fail by it.
    pub violates: BTreeSet<String>,
    /// The report that it is made after; none: only the requirements.
    #[serde(default)]
    pub source: Option<String>,
    /// How the traffic of a correct program is spoilt to have it; none: it is a mistake in the source code, or in what surrounds the
    /// program.
    #[serde(default)]
    pub wire: Vec<WireRule>,
    /// The cases that claim to catch it, each with words of the first missing link that its failure must name.
    pub claims: BTreeMap<String, Words>,
    /// Cases, or beginnings of their ids, that are there to catch it.
    #[serde(default)]
    pub cases: Vec<String>,
}

impl Defect {
    /// The role whose system is broken; none: the driver or the API server, which every case has.
    pub fn role(&self) -> Option<Role> {
        let broken = self.name.split('-').next();
        // The driver's part is played in every case, whatever its roles.
        let roles = [Role::Publisher, Role::Scheduler, Role::Cleaner];
        roles.into_iter().find(|role| Some(role.as_str()) == broken)
    }

    /// What it is made after: requirements, and a report.
    pub fn origin(&self) -> String {
        let ids = self.violates.iter().map(String::as_str);
        ids.chain(self.source.as_deref()).collect::<Vec<_>>().join(", ")
    }

    /// Whether a case claims to catch it, or is named for it.
    pub fn names(&self, case: &str) -> bool {
        self.claims.contains_key(case) || self.cases.iter().any(|name| is_meant(name, case))
    }
}

/// The mistakes in source code that a run has come past, by name; called after the run.
pub type Reached = Box<dyn Fn() -> BTreeSet<&'static str> + Send + Sync>;

/// All defects, in the order of the catalogue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Defects(Vec<Defect>);

impl Defects {
    /// The catalogue of this repository.
    pub fn load() -> Self {
        let text = include_str!("../defects.yaml");
        serde_saphyr::from_str(text).expect("the catalogue is part of this program and tested with it")
    }

    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = &Defect> {
        self.0.iter()
    }

    /// The defect of that name.
    pub fn get(&self, name: &str) -> Option<&Defect> {
        self.0.iter().find(|defect| defect.name == name)
    }
}
