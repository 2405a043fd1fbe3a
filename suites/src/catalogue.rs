//! The requirement catalogue: what each id demands and where that is written.

use std::collections::BTreeMap;

use harness::plan::Plan;
use harness::report::Requirement;
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
    /// The catalogue of this repository.
    pub fn load() -> Self {
        let text = include_str!("../requirements.yaml");
        let entries =
            serde_saphyr::from_str(text).expect("the catalogue is part of this program and tested with it");
        Catalogue { entries }
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
        plan.scenario
            .file
            .requirements
            .iter()
            .filter_map(|id| self.get(id))
            .collect()
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}
