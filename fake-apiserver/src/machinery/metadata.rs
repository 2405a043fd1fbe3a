//! `metadata`: reading it, and the rules that hold for every kind.
//!
//! Owns ObjectMeta's validation. Does not know kinds beyond the rule for their names.

use crate::machinery::faults::Faults;
use crate::machinery::json;
use crate::machinery::names::{self, Complaints};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Bytes that all annotations of an object may have together.
pub const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// A text inside `metadata`; empty where there is none.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// Sets a member of `metadata`, or removes it for `None`.
pub fn set(object: &mut Value, field: &str, value: Option<Value>) {
    edit(object);
    json::assign(&mut object["metadata"], field, value.unwrap_or_default());
}

/// Takes a member of `metadata` out.
pub fn take(object: &mut Value, field: &str) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove(field)
}

/// `metadata` as a map; it is made where it is missing.
pub fn edit(object: &mut Value) -> &mut Map<String, Value> {
    json::member(object, "metadata")
}

/// The finalizers of an object.
pub fn finalizers(object: &Value) -> Vec<&str> {
    json::texts(&object["metadata"]["finalizers"])
}

/// Whether a finalizer is one of those that need no domain.
pub fn is_standard_finalizer(finalizer: &str) -> bool {
    STANDARD_FINALIZERS.contains(&finalizer)
}

/// Whether deletion of the object has begun.
pub fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Adds one to `metadata.generation` of an object that has one.
pub fn bump_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    if generation > 0 {
        set(object, "generation", Some((generation + 1).into()));
    }
}

/// The names of finalizers, which the rules of core/v1 know.
pub fn known_finalizers(object: &Value, faults: &mut Faults) {
    for (i, finalizer) in finalizers(object).into_iter().enumerate() {
        known_finalizer(
            finalizer,
            &STANDARD_FINALIZERS,
            format!("metadata.finalizers[{i}]"),
            faults,
        );
    }
}

/// A finalizer is one of a standard, or somebody's by its domain.
pub fn known_finalizer(finalizer: &str, standard: &[&str], field: String, faults: &mut Faults) {
    if !finalizer.contains('/') && !standard.contains(&finalizer) {
        let text = "name is neither a standard finalizer name nor is it fully qualified";
        faults.invalid(field, finalizer, text);
    }
}

/// The rules for labels, annotations and owners.
pub fn described(object: &Value, faults: &mut Faults) {
    labels(&object["metadata"]["labels"], "metadata.labels", faults);
    annotations(&object["metadata"]["annotations"], "metadata.annotations", faults);
    owners(&object["metadata"]["ownerReferences"], faults);
}

/// The rules for `metadata` of objects of any kind (`ValidateObjectMeta` of the API machinery).
pub fn validate_common(object: &Value, name_rule: fn(&str) -> Complaints, faults: &mut Faults) {
    validate_name(object, name_rule, faults);
    validate_unnamed(object, faults);
}

/// The rules for `metadata.name`.
pub fn validate_name(object: &Value, name_rule: fn(&str) -> Complaints, faults: &mut Faults) {
    let name = text(object, "name");
    if name.is_empty() {
        faults.required("metadata.name", "name or generateName is required");
    } else {
        faults.complain("metadata.name", name, name_rule(name));
    }
}

/// The rules for `metadata` besides its name.
pub fn validate_unnamed(object: &Value, faults: &mut Faults) {
    described(object, faults);
    let all = finalizers(object);
    for finalizer in &all {
        faults.complain("metadata.finalizers", finalizer, names::qualified(finalizer));
    }
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let text = "finalizer orphan and foregroundDeletion cannot be both set";
        faults.invalid(
            "metadata.finalizers",
            object["metadata"]["finalizers"].clone(),
            text,
        );
    }
}

/// The rules for a change of `metadata` (`ValidateObjectMetaUpdate`).
pub fn validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    if is_deleting(old) {
        let before: HashSet<&str> = finalizers(old).into_iter().collect();
        let added: Vec<&str> = finalizers(new)
            .into_iter()
            .filter(|f| !before.contains(f))
            .collect();
        if !added.is_empty() {
            let list: Vec<String> = added.iter().map(|f| format!("{f:?}")).collect();
            let text = "no new finalizers can be added if the object is being deleted, found new finalizers";
            faults.forbidden(
                "metadata.finalizers",
                &format!("{text} []string{{{}}}", list.join(", ")),
            );
        }
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        faults.unchanged(
            &format!("metadata.{field}"),
            &new["metadata"][field],
            &old["metadata"][field],
        );
    }
    described(new, faults);
}

/// The rules for `generateName`: the rule for names, but that it may end with a dash.
pub fn validate_generated(object: &Value, name_rule: fn(&str) -> Complaints, faults: &mut Faults) {
    let base = text(object, "generateName");
    if !base.is_empty() {
        let whole = match base.strip_suffix('-') {
            Some(before) if !before.is_empty() => format!("{before}a"),
            _ => base.to_owned(),
        };
        faults.complain("metadata.generateName", base, name_rule(&whole));
    }
}

/// The rules for a map of labels.
pub fn labels(map: &Value, field: &str, faults: &mut Faults) {
    for (key, value) in json::pairs(map) {
        faults.complain(field, key, names::qualified(key));
        faults.complain(field, value, names::label_value(value));
    }
}

/// Validates the keys and the total size of annotations.
pub fn annotations(map: &Value, field: &str, faults: &mut Faults) {
    let mut bytes = 0;
    for (key, value) in json::pairs(map) {
        faults.complain(field, key, names::qualified(&key.to_lowercase()));
        bytes += key.len() + value.len();
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        faults.too_long(field, ANNOTATIONS_BYTES_MAX);
    }
}

fn owners(list: &Value, faults: &mut Faults) {
    let field = "metadata.ownerReferences";
    let mut controllers = Vec::new();
    for owner in list.as_array().into_iter().flatten() {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        if text("apiVersion").is_empty() {
            faults.invalid(format!("{field}.apiVersion"), "", "version must not be empty");
        }
        for part in ["kind", "name", "uid"] {
            if text(part).is_empty() {
                faults.invalid(format!("{field}.{part}"), "", "must not be empty");
            }
        }
        if (text("apiVersion"), text("kind")) == ("v1", "Event") {
            let text = "/v1, Kind=Event is disallowed from being an owner";
            faults.invalid_as(field, &as_go(owner), text);
        }
        if owner["controller"] == true {
            controllers.push(format!("{}/{}", text("kind"), text("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let all: Vec<String> = list.as_array().into_iter().flatten().map(as_go).collect();
        let text = "Only one reference can have Controller set to true. Found \"true\" in references for";
        let why = format!("{text} {first} and {second}");
        faults.invalid_as(field, &format!("[{}]", all.join(",")), &why);
    }
}

/// The owner that controls an object, if there is one.
pub fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .find(|owner| owner["controller"] == true)
}

/// A reference to an owner as Go writes it: its fields have an order.
fn as_go(owner: &Value) -> String {
    let fields = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let members = fields
        .into_iter()
        .filter_map(|name| Some((name, owner.get(name)?)));
    let members: Vec<String> = members.map(|(name, value)| format!("{name:?}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}
