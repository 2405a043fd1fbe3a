//! `metadata` of objects: access to its members, and the validation rules common to all kinds.
//!
//! Owns ObjectMeta validation. The validation of names depends on the kind: callers pass the function.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json;
use crate::machinery::names::{self, Messages};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::HashSet;

/// Maximum total size of an object's annotations in bytes.
pub const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// Finalizers that need no domain prefix.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// A string member of `metadata`; empty if the member is missing or not a string.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// Sets a member of `metadata`; `None` removes the member.
pub fn set(object: &mut Value, field: &str, value: Option<Value>) {
    map_mut(object);
    json::assign(&mut object["metadata"], field, value.unwrap_or_default());
}

/// Removes and returns a member of `metadata`.
pub fn take(object: &mut Value, field: &str) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove(field)
}

/// `metadata` as a map; created if the object has none.
pub fn map_mut(object: &mut Value) -> &mut Map<String, Value> {
    json::member(object, "metadata")
}

/// The entries of `metadata.finalizers` that are strings.
pub fn finalizers(object: &Value) -> Vec<&str> {
    json::texts(&object["metadata"]["finalizers"])
}

/// Adds a finalizer, unless the object has it.
pub(crate) fn add_finalizer(object: &mut Value, finalizer: &str) {
    if !finalizers(object).contains(&finalizer) {
        let list = map_mut(object).entry("finalizers").or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(finalizer.into());
        }
    }
}

/// Whether a finalizer needs no domain prefix.
pub fn is_standard_finalizer(finalizer: &str) -> bool {
    STANDARD_FINALIZERS.contains(&finalizer)
}

/// Whether the object has a `deletionTimestamp`.
pub fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Increments `metadata.generation`, if the object has a generation.
pub fn bump_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    if generation > 0 {
        set(object, "generation", Some((generation + 1).into()));
    }
}

/// Validates finalizers with the stricter rules for kinds of core/v1.
pub fn validate_core_finalizers(object: &Value, errors: &mut ErrorList) {
    for (i, finalizer) in finalizers(object).into_iter().enumerate() {
        validate_core_finalizer(
            finalizer,
            &STANDARD_FINALIZERS,
            format!("metadata.finalizers[{i}]"),
            errors,
        );
    }
}

/// Validates one finalizer: a standard finalizer, or a name with a domain prefix.
pub fn validate_core_finalizer(finalizer: &str, standard: &[&str], field: String, errors: &mut ErrorList) {
    if !finalizer.contains('/') && !standard.contains(&finalizer) {
        let text = "name is neither a standard finalizer name nor is it fully qualified";
        errors.invalid(field, finalizer, text);
    }
}

/// Validates labels, annotations and owner references.
pub fn validate_labels_annotations_owners(object: &Value, errors: &mut ErrorList) {
    validate_labels(&object["metadata"]["labels"], "metadata.labels", errors);
    validate_annotations(&object["metadata"]["annotations"], "metadata.annotations", errors);
    validate_owner_references(&object["metadata"]["ownerReferences"], errors);
}

/// Validates `metadata` of an object of any kind (`ValidateObjectMeta` of apimachinery).
pub fn validate_common(object: &Value, name_rule: fn(&str) -> Messages, errors: &mut ErrorList) {
    validate_name(object, name_rule, errors);
    validate_except_name(object, errors);
}

/// Validates `metadata.name`.
pub fn validate_name(object: &Value, name_rule: fn(&str) -> Messages, errors: &mut ErrorList) {
    let name = text(object, "name");
    if name.is_empty() {
        errors.required("metadata.name", "name or generateName is required");
    } else {
        errors.invalid_all("metadata.name", name, name_rule(name));
    }
}

/// Validates all of `metadata` except the name.
pub fn validate_except_name(object: &Value, errors: &mut ErrorList) {
    validate_labels_annotations_owners(object, errors);
    let all = finalizers(object);
    for finalizer in &all {
        errors.invalid_all("metadata.finalizers", finalizer, names::qualified_name(finalizer));
    }
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let text = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.invalid(
            "metadata.finalizers",
            object["metadata"]["finalizers"].clone(),
            text,
        );
    }
}

/// Validates an update of `metadata` (`ValidateObjectMetaUpdate`).
pub fn validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    if is_deleting(old) {
        let before: HashSet<&str> = finalizers(old).into_iter().collect();
        let added: Vec<&str> = finalizers(new)
            .into_iter()
            .filter(|f| !before.contains(f))
            .collect();
        if !added.is_empty() {
            let list: Vec<String> = added.iter().map(|f| format!("{f:?}")).collect();
            let text = "no new finalizers can be added if the object is being deleted, found new finalizers";
            errors.forbidden(
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
        errors.require_unchanged(
            &format!("metadata.{field}"),
            &new["metadata"][field],
            &old["metadata"][field],
        );
    }
    validate_labels_annotations_owners(new, errors);
}

/// Validates `generateName` like a name, except that it may end with a dash.
pub fn validate_generated(object: &Value, name_rule: fn(&str) -> Messages, errors: &mut ErrorList) {
    let base = text(object, "generateName");
    if !base.is_empty() {
        let whole = match base.strip_suffix('-') {
            Some(before) if !before.is_empty() => format!("{before}a"),
            _ => base.to_owned(),
        };
        errors.invalid_all("metadata.generateName", base, name_rule(&whole));
    }
}

/// Validates the keys and values of labels; adds errors below the path `field`.
pub fn validate_labels(map: &Value, field: &str, errors: &mut ErrorList) {
    for (key, value) in json::string_members(map) {
        errors.invalid_all(field, key, names::qualified_name(key));
        errors.invalid_all(field, value, names::label_value(value));
    }
}

/// Validates the keys and the total size of annotations.
pub fn validate_annotations(map: &Value, field: &str, errors: &mut ErrorList) {
    let mut bytes = 0;
    for (key, value) in json::string_members(map) {
        errors.invalid_all(field, key, names::qualified_name(&key.to_lowercase()));
        bytes += key.len() + value.len();
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        errors.too_long(field, ANNOTATIONS_BYTES_MAX);
    }
}

fn validate_owner_references(list: &Value, errors: &mut ErrorList) {
    let field = "metadata.ownerReferences";
    let mut controllers = Vec::new();
    for owner in list.as_array().into_iter().flatten() {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        if text("apiVersion").is_empty() {
            errors.invalid(format!("{field}.apiVersion"), "", "version must not be empty");
        }
        for part in ["kind", "name", "uid"] {
            if text(part).is_empty() {
                errors.invalid(format!("{field}.{part}"), "", "must not be empty");
            }
        }
        if (text("apiVersion"), text("kind")) == ("v1", "Event") {
            let text = "/v1, Kind=Event is disallowed from being an owner";
            errors.invalid_as(field, &format_owner_as_go(owner), text);
        }
        if owner["controller"] == true {
            controllers.push(format!("{}/{}", text("kind"), text("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let all: Vec<String> = list
            .as_array()
            .into_iter()
            .flatten()
            .map(format_owner_as_go)
            .collect();
        let text = "Only one reference can have Controller set to true. Found \"true\" in references for";
        let why = format!("{text} {first} and {second}");
        errors.invalid_as(field, &format!("[{}]", all.join(",")), &why);
    }
}

/// The name of the newest object that the annotation marks as default class; of equally old objects, the first by name.
pub fn newest_default<'c>(classes: impl Iterator<Item = &'c Value>, annotation: &str) -> Option<&'c str> {
    let defaults = classes.filter(|class| class["metadata"]["annotations"][annotation] == "true");
    let newest =
        defaults.min_by_key(|class| (Reverse(text(class, "creationTimestamp")), text(class, "name")));
    newest.map(|class| text(class, "name"))
}

/// The owner reference with `controller: true`, if there is one.
pub fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .find(|owner| owner["controller"] == true)
}

/// An owner reference as Go prints it, in the order of the struct fields.
fn format_owner_as_go(owner: &Value) -> String {
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
