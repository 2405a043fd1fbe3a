//! The status of definitions: conditions, and the names that they have been given.
//!
//! Owns which names a definition is given. Does not know when conditions change.

use super::conditions::{condition, is_true, set_condition};
use super::names::Others;
use crate::machinery::{json, metadata};
use serde_json::{Value, json};

/// The finalizer that holds a definition until its objects have gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether a definition has been given its names, so that it makes resources.
pub(crate) fn accepted(definition: &Value) -> bool {
    is_true(definition, "NamesAccepted") || is_true(definition, "Established")
}

/// Marks a definition that is being deleted; it stays until its objects have gone.
pub(crate) fn end(definition: &mut Value, now: &str) {
    metadata::set(definition, "deletionTimestamp", Some(now.into()));
    let mut finalizers = definition["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        finalizers.push(CLEANUP.into());
    }
    metadata::set(definition, "finalizers", Some(finalizers.into()));
    let text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    let condition = condition("Terminating", true, "InstanceDeletionPending", text);
    set_condition(definition, condition, now);
}

/// Names of one, with the reason of the refusal, and whether they are names of kinds.
const SINGLE: [(&str, &str, bool); 4] = [
    ("plural", "PluralConflict", false),
    ("singular", "SingularConflict", false),
    ("kind", "KindConflict", true),
    ("listKind", "ListKindConflict", true),
];

/// Gives a definition the names that it wants and that are free; returns reason and text of the last refusal.
pub(crate) fn conflicts(definition: &mut Value, taken: &Others<'_>) -> Option<(&'static str, String)> {
    let wanted = definition["spec"]["names"].clone();
    let mut refused = None;
    let given = json::member(definition, "status")
        .entry("acceptedNames")
        .or_insert(Value::Null);
    if !given.is_object() {
        *given = json!({});
    }
    for (field, reason, is_kind) in SINGLE {
        if field == "kind" {
            // The order is that of the real server, and the last refusal counts.
            refused = short_names(&wanted, given, taken).or(refused);
        }
        let name = json::string(&wanted, field);
        let is_taken = if is_kind {
            taken.have_kind(name)
        } else {
            taken.have_resource(name)
        };
        if name != json::string(given, field) && is_taken {
            refused = Some((reason, format!("{name:?} is already in use")));
        } else {
            given[field] = name.into();
        }
    }
    json::assign(given, "categories", wanted["categories"].clone());
    refused
}

/// Short names are given together, or not at all.
fn short_names(wanted: &Value, given: &mut Value, taken: &Others<'_>) -> Option<(&'static str, String)> {
    if wanted["shortNames"] == given["shortNames"] {
        return None;
    }
    let own = json::texts(&given["shortNames"]);
    let names = json::texts(&wanted["shortNames"]).into_iter();
    let clashes = names.filter(|name| !own.contains(name) && taken.have_resource(name));
    let clashes: Vec<String> = clashes
        .map(|name| format!("{name:?} is already in use"))
        .collect();
    match clashes.as_slice() {
        [] => {
            json::assign(given, "shortNames", wanted["shortNames"].clone());
            None
        }
        [one] => Some(("ShortNamesConflict", one.clone())),
        many => Some(("ShortNamesConflict", format!("[{}]", many.join(", ")))),
    }
}
