//! The requirement catalogue: what the documents ask, where that is written, and what shows it beside the cases.
//!
//! Knows no case: each names by itself what it shows.

mod document;
mod evidence;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use harness::invocation::program;
use harness::plan::Plan;
use harness::report::Requirement;
use harness::scenario::{Scenario, ScenarioError};
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use document::{Document, Source};
pub use evidence::{Evidence, TestName};

/// Requirements by id, and the documents that they come from.
pub struct Catalogue {
    documents: Vec<Document>,
    entries: BTreeMap<String, Entry>,
}

/// What is known of one requirement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Entry {
    /// Where it is written.
    pub source: Source,
    /// What is demanded, in one sentence of this project.
    pub text: String,
    /// The sentence of the document, word for word; none: no document has one.
    #[serde(default)]
    pub quote: Option<String>,
    /// The document with that sentence, where it is not the one of `source`.
    #[serde(default)]
    pub quote_from: Option<String>,
    /// What `text` demands and the quote does not.
    #[serde(default)]
    pub beyond: Option<String>,
    /// What shows it beside the cases that name it.
    #[serde(default)]
    pub shown_by: Vec<Evidence>,
    /// Why nothing can be asked of a program.
    #[serde(default)]
    pub reason: Option<String>,
}

impl Catalogue {
    /// The catalogue of this repository. It is read once: exploring makes a new case every few milliseconds.
    pub fn load() -> &'static Self {
        static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue {
            documents: read(include_str!("../../documents.yaml")),
            entries: read(include_str!("../../requirements.yaml")),
        });
        &CATALOGUE
    }

    /// One requirement, in the words of reports.
    pub fn get(&self, id: &str) -> Option<Requirement> {
        let entry = self.entry(id)?;
        Some(Requirement {
            id: id.to_owned(),
            text: entry.text.clone(),
            source: entry.source.to_string(),
            quote: entry.quote.clone(),
            quote_from: entry.quote_from.clone(),
            beyond: entry.beyond.clone(),
        })
    }

    /// What is known of one requirement.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// The documents, in the order in which they are shown.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// What a section of a document asks, in the order of the ids.
    pub fn of_section<'c>(
        &'c self,
        document: &'c Document,
        section: &'c str,
    ) -> impl Iterator<Item = (&'c str, &'c Entry)> {
        let of_section =
            move |entry: &Entry| entry.source.document == document.name && entry.source.section == section;
        let entries = self.entries.iter().filter(move |(_, entry)| of_section(entry));
        entries.map(|(id, entry)| (id.as_str(), entry))
    }

    /// The requirements that a case shows, in its order.
    pub fn of(&self, plan: &Plan) -> Vec<Requirement> {
        plan.requirements.iter().filter_map(|id| self.get(id)).collect()
    }

    /// Marks a case as beyond the documents where each of its requirements demands more than a document does.
    pub fn mark(&self, plan: &mut Plan) {
        let beyond = plan.requirements.iter().map(|id| {
            let beyond = self.entry(id)?.beyond.as_ref()?;
            Some(format!("{id}: {beyond}"))
        });
        if let Some(beyond) = beyond.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty()) {
            plan.go_beyond(beyond.join(" "));
        }
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
        format!(
            "no requirement is called `{id}`; `{program} list --requirements` shows them all{range}",
            program = program()
        )
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}

fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_saphyr::from_str(text).expect("the catalogue is part of this program and tested with it")
}
