//! The status of definitions: conditions, and the names that they have been given.
//!
//! Owns which names are free. Does not know when conditions change.

use crate::machinery::{json, metadata};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The finalizer that holds a definition until its objects have gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether the condition of that type is true.
pub(crate) fn is_true(definition: &Value, of: &str) -> bool {
    let mut conditions = json::list(&definition["status"]["conditions"]).iter();
    conditions.any(|condition| condition["type"] == of && condition["status"] == "True")
}

/// Whether a definition has been given its names, so that it makes resources.
pub(crate) fn accepted(definition: &Value) -> bool {
    is_true(definition, "NamesAccepted") || is_true(definition, "Established")
}

/// A condition, without its time.
pub(crate) fn condition(of: &str, is_so: bool, reason: &str, message: &str) -> Value {
    let status = if is_so { "True" } else { "False" };
    json!({"type": of, "status": status, "reason": reason, "message": message})
}

/// Sets a condition. Its time is that of the last change of its status.
pub(crate) fn set_condition(definition: &mut Value, mut condition: Value, now: &str) {
    let status = json::member(definition, "status");
    let list = status.entry("conditions").or_insert(Value::Null);
    if !list.is_array() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else { return };
    let known = list.iter_mut().find(|known| known["type"] == condition["type"]);
    let since = known
        .as_ref()
        .filter(|known| known["status"] == condition["status"]);
    condition["lastTransitionTime"] =
        since.map_or_else(|| now.into(), |known| known["lastTransitionTime"].clone());
    match known {
        Some(known) => *known = condition,
        None => list.push(condition),
    }
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

/// Names that are taken in a group.
#[derive(Debug, Default)]
pub(crate) struct Names {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl Names {
    /// The same with the names of another definition.
    pub(crate) fn with(mut self, names: &Value) -> Self {
        let resources = ["plural", "singular"].map(|field| json::string(names, field));
        let resources = resources.into_iter().chain(json::texts(&names["shortNames"]));
        self.resources.extend(resources.map(str::to_owned));
        self.kinds
            .extend(["kind", "listKind"].map(|field| json::string(names, field).to_owned()));
        self
    }
}

/// Names of one, with the reason of the refusal, and whether they are names of kinds.
const SINGLE: [(&str, &str, bool); 4] = [
    ("plural", "PluralConflict", false),
    ("singular", "SingularConflict", false),
    ("kind", "KindConflict", true),
    ("listKind", "ListKindConflict", true),
];

/// Gives a definition the names that it wants and that are free; returns reason and text of the last refusal.
pub(crate) fn conflicts(definition: &mut Value, taken: &Names) -> Option<(&'static str, String)> {
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
        let names = if is_kind { &taken.kinds } else { &taken.resources };
        let name = json::string(&wanted, field);
        if name != json::string(given, field) && names.contains(name) {
            refused = Some((reason, format!("{name:?} is already in use")));
        } else {
            given[field] = name.into();
        }
    }
    json::assign(given, "categories", wanted["categories"].clone());
    refused
}

/// Short names are given together, or not at all.
fn short_names(wanted: &Value, given: &mut Value, taken: &Names) -> Option<(&'static str, String)> {
    if wanted["shortNames"] == given["shortNames"] {
        return None;
    }
    let own = json::texts(&given["shortNames"]);
    let names = json::texts(&wanted["shortNames"]).into_iter();
    let clashes = names.filter(|name| !own.contains(name) && taken.resources.contains(*name));
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
