//! Writes requests down as facts.

use std::sync::Arc;

use fake_apiserver::{ResourcePath, Verb};
use harness::journal::{RequestFact, What};
use harness::unserved;
use serde_json::Value;

use crate::attribution::revision;
use crate::case::Case;

/// What is written down of an answer.
pub(crate) struct Noted<'a> {
    code: u16,
    message: Option<String>,
    value: &'a Value,
    /// Whether a fault of the case made it.
    injected: bool,
}

impl<'a> Noted<'a> {
    /// Of an answer of the server, or of the harness in its place.
    pub(crate) fn of(code: u16, message: Option<String>, value: &'a Value) -> Self {
        Noted {
            code,
            message,
            value,
            injected: false,
        }
    }

    /// Of a refusal by a fault of the case.
    pub(crate) fn injected(code: u16, message: String) -> Self {
        Noted {
            code,
            message: Some(message),
            value: &Value::Null,
            injected: true,
        }
    }
}

/// Writes a request down.
pub(crate) fn note(case: &Case, client: &Arc<str>, verb: Verb, path: &ResourcePath, answer: Noted<'_>) {
    let Noted {
        code,
        message,
        value,
        injected,
    } = answer;
    let made = || value["metadata"]["name"].as_str().map(str::to_owned);
    let name = match (verb, &path.name) {
        (Verb::Create, None) if code < 300 => made(),
        (_, name) => name.clone(),
    };
    let revision = Some(revision(value)).filter(|revision| *revision > 0);
    case.attribution.sink().put(What::Request(RequestFact {
        client: client.clone(),
        verb,
        resource: path.acted_on(),
        version: Some(path.group_version()),
        namespace: path.namespace.clone(),
        name,
        code,
        message: unserved::named(path, code, message),
        revision,
        injected,
    }));
}
