//! Writes requests down as facts.

use std::sync::Arc;

use fake_apiserver::{ResourcePath, Verb};
use serde_json::Value;

use super::attribution::revision;
use super::case::Case;
use crate::journal::{RequestFact, What};
use crate::unserved;

/// Writes a request down.
pub(super) fn note(
    case: &Case,
    client: &Arc<str>,
    verb: Verb,
    path: &ResourcePath,
    code: u16,
    message: Option<String>,
    value: &Value,
) {
    let made = || value["metadata"]["name"].as_str().map(str::to_owned);
    let name = match (verb, &path.name) {
        (Verb::Create, None) if code < 300 => made(),
        (_, name) => name.clone(),
    };
    let revision = Some(revision(value)).filter(|revision| *revision > 0);
    case.attribution.journal().append(What::Request(RequestFact {
        client: client.clone(),
        verb: verb.as_str().to_owned(),
        resource: path.combined(),
        version: Some(path.group_version()),
        namespace: path.namespace.clone(),
        name,
        code,
        message: unserved::named(path, code, message),
        revision,
    }));
}
