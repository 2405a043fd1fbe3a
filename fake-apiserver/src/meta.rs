//! `metadata`: reading it, and the rules that hold for every kind.
//!
//! Owns ObjectMeta's validation. Does not know kinds beyond the rule for their names.

use crate::faults::Faults;
use crate::names::{self, Complaints};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Bytes that all annotations of an object may have together.
pub(crate) const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// A text inside `metadata`; empty where there is none.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// Sets a member of `metadata`, or removes it for `None`.
pub(crate) fn set(object: &mut Value, field: &str, value: Option<Value>) {
    edit(object);
    assign(&mut object["metadata"], field, value.unwrap_or_default());
}

/// Takes a member of `metadata` out.
pub(crate) fn take(object: &mut Value, field: &str) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove(field)
}

/// Sets a member of an object; `null` removes it.
pub(crate) fn assign(object: &mut Value, name: &str, value: Value) {
    let Some(members) = object.as_object_mut() else {
        return;
    };
    if value.is_null() {
        members.remove(name);
    } else {
        members.insert(name.to_owned(), value);
    }
}

/// `metadata` as a map; it is made where it is missing.
pub(crate) fn edit(object: &mut Value) -> &mut Map<String, Value> {
    member(object, "metadata")
}

/// A member of an object as a map; it is made where it is missing or something else.
pub(crate) fn member<'a>(object: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let slot = &mut object[name];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("it was made an object above")
}

/// A member of an object, made as `null` where it is missing; what is no object becomes one.
pub(crate) fn slot<'a>(object: &'a mut Value, name: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    &mut object[name]
}

/// Sets a member of an object that has none of that name, or `null`.
pub(crate) fn default_member(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        let member = members.entry(name).or_insert(Value::Null);
        if member.is_null() {
            *member = value.into();
        }
    }
}

/// The entries of a list inside an object, where there is one. (Indexing would leave a `null` behind.)
pub(crate) fn entries<'a>(object: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    object
        .pointer_mut(pointer)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// The finalizers of an object.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    texts(&object["metadata"]["finalizers"])
}

/// Whether deletion of the object has begun.
pub(crate) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Adds one to `metadata.generation` of an object that has one.
pub(crate) fn bump_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    if generation > 0 {
        set(object, "generation", Some((generation + 1).into()));
    }
}

/// The entries of a list; none where there is none.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a field; empty where there is none.
pub(crate) fn string<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// The strings of a list.
pub(crate) fn texts(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The pairs of a map of strings.
pub(crate) fn pairs(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    map.as_object()
        .into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)))
}

/// The rules for `metadata` of a new or changed object (`ValidateObjectMeta` of core/v1).
pub(crate) fn validate(object: &Value, name_rule: fn(&str) -> Complaints, faults: &mut Faults) {
    validate_common(object, name_rule, faults);
    for (i, finalizer) in finalizers(object).into_iter().enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            let text = "name is neither a standard finalizer name nor is it fully qualified";
            faults.invalid(format!("metadata.finalizers[{i}]"), finalizer, text);
        }
    }
}

/// The rules for `metadata` of objects of any kind (`ValidateObjectMeta` of the API machinery).
pub(crate) fn validate_common(object: &Value, name_rule: fn(&str) -> Complaints, faults: &mut Faults) {
    let name = text(object, "name");
    if name.is_empty() {
        faults.required("metadata.name", "name or generateName is required");
    } else {
        complain(faults, "metadata.name", name, name_rule(name));
    }
    labels(&object["metadata"]["labels"], "metadata.labels", faults);
    annotations(&object["metadata"]["annotations"], faults);
    owners(&object["metadata"]["ownerReferences"], faults);
    let all = finalizers(object);
    for finalizer in &all {
        complain(
            faults,
            "metadata.finalizers",
            finalizer,
            names::qualified(finalizer),
        );
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
pub(crate) fn validate_update(new: &Value, old: &Value, faults: &mut Faults) {
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
    labels(&new["metadata"]["labels"], "metadata.labels", faults);
    annotations(&new["metadata"]["annotations"], faults);
    owners(&new["metadata"]["ownerReferences"], faults);
}

/// The rules for `generateName`: the rule for names, but that it may end with a dash.
pub(crate) fn validate_generated(object: &Value, name_rule: fn(&str) -> Complaints, faults: &mut Faults) {
    let base = text(object, "generateName");
    if !base.is_empty() {
        let whole = match base.strip_suffix('-') {
            Some(before) if !before.is_empty() => format!("{before}a"),
            _ => base.to_owned(),
        };
        complain(faults, "metadata.generateName", base, name_rule(&whole));
    }
}

/// The rules for a map of labels.
pub(crate) fn labels(map: &Value, field: &str, faults: &mut Faults) {
    for (key, value) in pairs(map) {
        complain(faults, field, key, names::qualified(key));
        complain(faults, field, value, names::label_value(value));
    }
}

/// Reports everything that is wrong with one value.
pub(crate) fn complain(faults: &mut Faults, field: &str, value: &str, complaints: Complaints) {
    for complaint in complaints {
        faults.invalid(field, value, &complaint);
    }
}

fn annotations(map: &Value, faults: &mut Faults) {
    let mut bytes = 0;
    for (key, value) in pairs(map) {
        complain(
            faults,
            "metadata.annotations",
            key,
            names::qualified(&key.to_lowercase()),
        );
        bytes += key.len() + value.len();
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        faults.too_long("metadata.annotations", ANNOTATIONS_BYTES_MAX);
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
