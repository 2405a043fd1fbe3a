//! The status of CRDs: conditions and accepted names.
//!
//! Owns the decision which names are accepted. Does not know when conditions change.

use super::conditions::{condition, is_true, set_condition};
use super::names::OtherNames;
use fake_apiserver::extension::{json, metadata};
use serde_json::{Value, json};

/// The finalizer that a CRD has until its custom resources are deleted.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether the names of a CRD were accepted, so that its resources are served.
pub(crate) fn are_names_accepted(definition: &Value) -> bool {
    is_true(definition, "NamesAccepted") || is_true(definition, "Established")
}

/// Marks a CRD as terminating. The CRD exists until its custom resources are deleted.
pub(crate) fn mark_terminating(definition: &mut Value, now: &str) {
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

/// Fields of `spec.names` with a single name: the field, the reason in a conflict, and whether the field names a kind, not a resource.
const SINGLE: [(&str, &str, bool); 4] = [
    ("plural", "PluralConflict", false),
    ("singular", "SingularConflict", false),
    ("kind", "KindConflict", true),
    ("listKind", "ListKindConflict", true),
];

/// Accepts the names of a CRD that no CRD in `others` has accepted; returns reason and message of the last name conflict.
pub(crate) fn accept_names(
    definition: &mut Value,
    others: &OtherNames<'_>,
) -> Option<(&'static str, String)> {
    let wanted = definition["spec"]["names"].clone();
    let mut conflict = None;
    let given = json::member(definition, "status")
        .entry("acceptedNames")
        .or_insert(Value::Null);
    if !given.is_object() {
        *given = json!({});
    }
    for (field, reason, is_kind) in SINGLE {
        if field == "kind" {
            // As in kube-apiserver, short names are checked before `kind`, and the last name conflict is reported.
            conflict = short_names(&wanted, given, others).or(conflict);
        }
        let name = json::string(&wanted, field);
        let is_taken = if is_kind {
            others.has_kind(name)
        } else {
            others.has_resource(name)
        };
        if name != json::string(given, field) && is_taken {
            conflict = Some((reason, format!("{name:?} is already in use")));
        } else {
            given[field] = name.into();
        }
    }
    json::assign(given, "categories", wanted["categories"].clone());
    conflict
}

/// Accepts the short names of a CRD all together, or none of them if one is in use.
fn short_names(wanted: &Value, given: &mut Value, others: &OtherNames<'_>) -> Option<(&'static str, String)> {
    if wanted["shortNames"] == given["shortNames"] {
        return None;
    }
    let own = json::texts(&given["shortNames"]);
    let names = json::texts(&wanted["shortNames"]).into_iter();
    let clashes = names.filter(|name| !own.contains(name) && others.has_resource(name));
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
