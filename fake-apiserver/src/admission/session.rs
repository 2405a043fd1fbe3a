//! The admission session of one request: webhook calls and their responses.
//!
//! A verb that needs a missing webhook response aborts without effect and is retried after the response has arrived. A response is valid
//! only while the object equals the object in the admission request: if it has changed in the meantime, the webhooks are called again.

use super::registry::Registry;
use super::request::{AdmissionRequest, Requester};
use super::webhooks::AdmissionResponse;
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::object::Object;
use serde_json::Value;
use std::sync::Arc;

/// Pending and completed webhook calls of one client request, whose verb is executed again after each missing response.
pub(crate) struct AdmissionSession {
    pub(crate) registry: Arc<Registry>,
    pub(crate) requester: Arc<Requester>,
    /// The time at which the verb was first executed; repeated executions use this time.
    pub(crate) now: Option<Arc<str>>,
    /// Random seed for uids and generated names; repeated executions of the verb use this seed.
    pub(crate) seed: Option<u64>,
    pub(crate) pending: Vec<AdmissionRequest>,
    completed: Vec<(AdmissionRequest, AdmissionResponse)>,
    /// Stored objects that a conversion webhook must convert, each with the resource in the requested version.
    pub(crate) to_convert: Vec<(Kind, Arc<Object>)>,
    /// Objects that a conversion webhook must convert before they are stored, each with the resource in its storage version.
    pub(crate) values_to_convert: Vec<(Kind, Value)>,
    /// The error of a failed conversion by webhook, with which the client request fails.
    pub(crate) unconvertible: Option<Status>,
    values: Vec<(&'static str, Value, Value)>,
}

impl AdmissionSession {
    pub(crate) fn new(registry: Arc<Registry>, requester: Requester) -> Self {
        Self {
            registry,
            requester: Arc::new(requester),
            now: None,
            seed: None,
            pending: Vec::new(),
            completed: Vec::new(),
            to_convert: Vec::new(),
            values_to_convert: Vec::new(),
            unconvertible: None,
            values: Vec::new(),
        }
    }

    /// The recorded response to an equal admission request, if any.
    pub(crate) fn response(&self, request: &AdmissionRequest) -> Option<&AdmissionResponse> {
        let mut completed = self.completed.iter().rev();
        completed
            .find(|(known, _)| known.equals(request))
            .map(|(_, response)| response)
    }

    pub(crate) fn record(&mut self, request: AdmissionRequest, response: AdmissionResponse) {
        self.completed.push((request, response));
    }

    pub(crate) fn converted(&self, kind: &Kind, object: &Value) -> Option<Value> {
        let mut known = self.values.iter().rev();
        let found = known.find(|(version, from, _)| *version == kind.version && from == object);
        found.map(|(_, _, converted)| converted.clone())
    }

    pub(crate) fn record_converted(&mut self, version: &'static str, from: Value, converted: Value) {
        self.values.push((version, from, converted));
    }

    /// Whether webhook calls or object conversions are pending.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.pending.is_empty() || !self.to_convert.is_empty() || !self.values_to_convert.is_empty()
    }

    /// Number of recorded webhook responses and object conversions.
    pub(crate) fn completed_count(&self) -> usize {
        self.completed.len() + self.values.len()
    }
}
