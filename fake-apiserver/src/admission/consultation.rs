//! What webhooks are asked about one request, and what they have answered.
//!
//! A verb that has to wait for an answer ends without having done anything, and is carried out again from its begin when
//! the answer is there. An answer is good only for exactly the object that was asked about: where the state has changed
//! in the meantime, the question is asked anew.

use super::question::{Question, Requester, Verdict};
use super::registry::Registry;
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::object::Object;
use serde_json::Value;
use std::sync::Arc;

/// What was asked about one request, and answered.
pub(crate) struct Consultation {
    pub(crate) registry: Arc<Registry>,
    pub(crate) requester: Arc<Requester>,
    /// The time of the request, from when it was first carried out.
    pub(crate) now: Option<Arc<str>>,
    /// What its uids and generated names follow from.
    pub(crate) seed: Option<u64>,
    /// Still to be asked.
    pub(crate) asked: Vec<Question>,
    answered: Vec<(Question, Verdict)>,
    /// Stored objects that are needed in the version of another resource.
    pub(crate) to_convert: Vec<(Kind, Arc<Object>)>,
    /// Objects that are about to be stored, with the resource that stores them.
    pub(crate) values_to_convert: Vec<(Kind, Value)>,
    /// Why something cannot be converted.
    pub(crate) unconvertible: Option<Status>,
    values: Vec<(&'static str, Value, Value)>,
}

impl Consultation {
    pub(crate) fn new(registry: Arc<Registry>, requester: Requester) -> Self {
        Self {
            registry,
            requester: Arc::new(requester),
            now: None,
            seed: None,
            asked: Vec::new(),
            answered: Vec::new(),
            to_convert: Vec::new(),
            values_to_convert: Vec::new(),
            unconvertible: None,
            values: Vec::new(),
        }
    }

    /// What was answered to a question, if it was asked.
    pub(crate) fn answer(&self, question: &Question) -> Option<&Verdict> {
        let mut known = self.answered.iter().rev();
        known
            .find(|(asked, _)| asked.is(question))
            .map(|(_, verdict)| verdict)
    }

    /// Keeps an answer.
    pub(crate) fn note(&mut self, question: Question, verdict: Verdict) {
        self.answered.push((question, verdict));
    }

    /// An object in the version of a resource, as it was converted before.
    pub(crate) fn converted(&self, kind: &Kind, object: &Value) -> Option<Value> {
        let mut known = self.values.iter().rev();
        let found = known.find(|(version, from, _)| *version == kind.version && from == object);
        found.map(|(_, _, converted)| converted.clone())
    }

    /// Keeps an object that was converted.
    pub(crate) fn note_converted(&mut self, version: &'static str, from: Value, converted: Value) {
        self.values.push((version, from, converted));
    }

    /// Whether anything is still to be answered.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty() || !self.to_convert.is_empty() || !self.values_to_convert.is_empty()
    }

    /// How many answers there are.
    pub(crate) fn answers(&self) -> usize {
        self.answered.len() + self.values.len()
    }
}
