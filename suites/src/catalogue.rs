//! The requirement catalogue: what each id demands and where that is written.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use harness::plan::Plan;
use harness::report::Requirement;
use harness::scenario::{Scenario, ScenarioError};
use serde::Deserialize;

/// Requirements by id.
pub struct Catalogue {
    entries: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Where it is written.
    source: String,
    /// What is demanded, in one sentence.
    text: String,
}

impl Catalogue {
    /// The catalogue of this repository. It is read once: exploring makes a new case every few milliseconds.
    pub fn load() -> &'static Self {
        static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
            let text = include_str!("../requirements.yaml");
            let entries = serde_saphyr::from_str(text);
            Catalogue {
                entries: entries.expect("the catalogue is part of this program and tested with it"),
            }
        });
        &CATALOGUE
    }

    /// One requirement.
    pub fn get(&self, id: &str) -> Option<Requirement> {
        let entry = self.entries.get(id)?;
        Some(Requirement {
            id: id.to_owned(),
            text: entry.text.clone(),
            source: entry.source.clone(),
        })
    }

    /// The requirements that a case shows, in its order.
    pub fn of(&self, plan: &Plan) -> Vec<Requirement> {
        plan.requirements.iter().filter_map(|id| self.get(id)).collect()
    }

    /// Fails where a case names a requirement that does not exist: what it shows would be lost.
    pub fn check(&self, case: &Scenario) -> Result<(), ScenarioError> {
        let mut named = case.file.requirements.iter();
        match named.find(|id| !self.entries.contains_key(&id.value)) {
            None => Ok(()),
            Some(id) => Err(case.error(id.defined, self.unknown(&id.value))),
        }
    }

    /// What is said of an id that there is not.
    pub fn unknown(&self, id: &str) -> String {
        // What is alike is no help with numbers; what begins alike is.
        let area = id.split('-').next().unwrap_or_default();
        let alike: Vec<&str> = self
            .ids()
            .filter(|known| known.split('-').next() == Some(area))
            .collect();
        let range = match (alike.first(), alike.last()) {
            (Some(first), Some(last)) => format!(", which go from {first} to {last}"),
            _ => String::new(),
        };
        format!("no requirement is called `{id}`; suites/requirements.yaml has them all{range}")
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}
