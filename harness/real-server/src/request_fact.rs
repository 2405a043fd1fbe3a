//! Records requests and their responses as facts in the journal.

use std::sync::Arc;

use fake_apiserver::{ResourcePath, Verb};
use harness::journal::{Observation, RequestFact};
use harness::unserved;
use serde_json::Value;

use crate::attribution::revision;
use crate::case::Case;

/// The parts of a response that a request fact contains.
pub(crate) struct RecordedResponse<'a> {
    code: u16,
    message: Option<String>,
    value: &'a Value,
    injected: bool,
}

impl<'a> RecordedResponse<'a> {
    /// A response that no fault rule caused: the server's response, or an error of the harness.
    pub(crate) fn of(code: u16, message: Option<String>, value: &'a Value) -> Self {
        RecordedResponse {
            code,
            message,
            value,
            injected: false,
        }
    }

    pub(crate) fn injected(code: u16, message: String) -> Self {
        RecordedResponse {
            code,
            message: Some(message),
            value: &Value::Null,
            injected: true,
        }
    }
}

pub(crate) fn record_request(
    case: &Case,
    client: &Arc<str>,
    verb: Verb,
    path: &ResourcePath,
    response: RecordedResponse<'_>,
) {
    let RecordedResponse {
        code,
        message,
        value,
        injected,
    } = response;
    let made = || value["metadata"]["name"].as_str().map(str::to_owned);
    let name = match (verb, &path.name) {
        (Verb::Create, None) if code < 300 => made(),
        (_, name) => name.clone(),
    };
    let revision = Some(revision(value)).filter(|revision| *revision > 0);
    case.attribution.sink().record(Observation::Request(RequestFact {
        client: client.clone(),
        verb,
        resource: path.affected_resource(),
        version: Some(path.group_version()),
        namespace: path.namespace.clone(),
        name,
        code,
        message: unserved::complete_message(path, code, message),
        revision,
        injected,
    }));
}
