//! The requirement catalogue: the requirements of the KEPs and the CSI spec, their sources, and evidence other than cases.
//!
//! Does not know cases: each case lists the requirements that it verifies.

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

/// Requirements by id, and their source documents.
pub struct Catalogue {
    documents: Vec<Document>,
    entries: BTreeMap<String, Entry>,
}

/// A requirement, with its source document and its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Entry {
    /// Document and section that contain the requirement.
    pub source: Source,
    /// The requirement in one sentence, in the words of this project.
    pub text: String,
    /// Verbatim quote from the document; `None` if no document states the requirement.
    pub quote: Option<String>,
    /// The document that contains the quote, if it differs from the document of `source`.
    pub quote_from: Option<String>,
    /// What `text` requires beyond the quote.
    pub beyond: Option<String>,
    /// Evidence for the requirement other than cases.
    #[serde(default)]
    pub shown_by: Vec<Evidence>,
    /// Why no test can verify the requirement; `None` for testable requirements.
    pub reason: Option<String>,
}

impl Catalogue {
    /// The catalogue of this repository. Loaded once: exploration creates a case every few milliseconds.
    pub fn load() -> &'static Self {
        static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue {
            documents: read(include_str!("../../documents.yaml")),
            entries: read(include_str!("../../requirements.yaml")),
        });
        &CATALOGUE
    }

    /// The requirement with this id, in the form that reports use.
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

    /// The catalogue entry of the requirement with this id.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// The documents, in display order.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The requirements of a section, in order of their ids.
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

    /// The requirements that a case verifies, in the order in which the case lists them.
    pub fn requirements_of(&self, plan: &Plan) -> Vec<Requirement> {
        plan.requirements.iter().filter_map(|id| self.get(id)).collect()
    }

    /// Marks a case whose requirements all have a `beyond` text: the case verifies only what goes beyond the documents.
    pub fn mark_beyond_documents(&self, plan: &mut Plan) {
        let beyond = plan.requirements.iter().map(|id| {
            let beyond = self.entry(id)?.beyond.as_ref()?;
            Some(format!("{id}: {beyond}"))
        });
        if let Some(beyond) = beyond.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty()) {
            plan.mark_beyond(beyond.join(" "));
        }
    }

    /// Fails if a case names a requirement that is not in the catalogue. Coverage would not count such a requirement.
    pub fn check(&self, case: &Scenario) -> Result<(), ScenarioError> {
        let mut named = case.file.requirements.iter();
        match named.find(|id| !self.entries.contains_key(&id.value)) {
            None => Ok(()),
            Some(id) => Err(case.error(id.defined, self.unknown_id_message(&id.value))),
        }
    }

    /// Error message for an unknown requirement id.
    pub fn unknown_id_message(&self, id: &str) -> String {
        // Suggest the range of ids of the area, not a similar id: ids end in numbers, so a similar id means something else.
        let area = id.split('-').next().unwrap_or_default();
        let alike: Vec<&str> = self
            .ids()
            .filter(|known| known.split('-').next() == Some(area))
            .collect();
        let range = match (alike.first(), alike.last()) {
            (Some(first), Some(last)) => format!("; the ids of this area go from {first} to {last}"),
            _ => String::new(),
        };
        format!(
            "no requirement has the id `{id}`; `{program} list --requirements` shows all requirements{range}",
            program = program()
        )
    }

    /// The ids of all requirements.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}

fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_saphyr::from_str(text).expect("embedded catalogue is valid")
}
