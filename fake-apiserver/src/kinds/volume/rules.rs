//! Rules that volumes and claims share: modes of access, classes, amounts, protection.

use crate::config::admission::Plugin;
use crate::kinds::Setting;
use crate::machinery::faults::Faults;
use crate::machinery::quantity::Quantity;
use crate::machinery::{json, metadata, names};
use serde_json::{Value, json};

/// In the order in which the server lists what it supports.
const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// StorageObjectInUseProtection.
pub(in crate::kinds) fn protect(object: &mut Value, setting: &Setting<'_>, finalizer: &str) {
    let protects = setting
        .options
        .admission
        .has(Plugin::StorageObjectInUseProtection);
    if !protects || metadata::finalizers(object).contains(&finalizer) {
        return;
    }
    let list = metadata::edit(object)
        .entry("finalizers")
        .or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        list.push(finalizer.into());
    }
}

/// The name of a class, where there is one.
pub(super) fn class_name(spec: &Value, name: &str, at: &str, faults: &mut Faults) {
    if let Some(class) = spec[name].as_str().filter(|class| !class.is_empty()) {
        faults.complain(&format!("{at}.{name}"), class, names::subdomain(class));
    }
}

/// What modes of access there are, and which go together.
pub(super) fn access_modes(spec: &Value, at: &str, faults: &mut Faults) {
    let modes = json::texts(&spec["accessModes"]);
    let field = format!("{at}.accessModes");
    for mode in &modes {
        faults.one_of(&field, mode, &ACCESS_MODES);
    }
    let other = |mode: &&str| *mode != "ReadWriteOncePod" && ACCESS_MODES.contains(mode);
    if modes.contains(&"ReadWriteOncePod") && modes.iter().any(other) {
        faults.forbidden(field, "may not use ReadWriteOncePod with other access modes");
    }
}

pub(super) fn volume_mode(spec: &Value, at: &str, faults: &mut Faults) {
    if let Some(mode) = spec["volumeMode"].as_str() {
        faults.one_of(&format!("{at}.volumeMode"), mode, &["Block", "Filesystem"]);
    }
}

/// An amount that is not negative; a negative one is shown as a number.
pub(super) fn basic(field: &str, text: &str, faults: &mut Faults) {
    if let Ok(amount) = text.parse::<Quantity>()
        && amount.is_negative()
    {
        faults.invalid(field, amount.value(), "must be a valid resource quantity");
    }
}

pub(super) fn positive(field: &str, text: &str, faults: &mut Faults) {
    if text
        .parse::<Quantity>()
        .is_ok_and(|q| q.is_zero() || q.is_negative())
    {
        faults.invalid(field, text, "must be greater than zero");
    }
}

/// The phase that volumes and claims show.
pub(super) fn phase(object: &Value) -> Value {
    match metadata::is_deleting(object) {
        true => "Terminating".into(),
        false => json::string(&object["status"], "phase").into(),
    }
}

/// Short names of access modes.
pub(super) fn modes(list: &Value) -> Value {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes = json::texts(list);
    let short = short
        .iter()
        .filter(|(long, _)| modes.contains(long))
        .map(|(_, short)| *short);
    short.collect::<Vec<_>>().join(",").into()
}

/// Metadata that what is made from a template has from elsewhere, in the order of its Go type.
const NOT_IN_TEMPLATES: [&str; 13] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// The rules for metadata of what is made from a template: the rest comes from elsewhere (`ValidateTemplateObjectMeta`).
pub(in crate::kinds) fn template_metadata(template: &Value, at: &str, faults: &mut Faults) {
    metadata::annotations(&template["annotations"], &format!("{at}.annotations"), faults);
    metadata::labels(&template["labels"], &format!("{at}.labels"), faults);
    for name in NOT_IN_TEMPLATES.iter().filter(|name| !template[**name].is_null()) {
        // The real server makes this one from the name of its Go field.
        let shown = if *name == "uid" { "uID" } else { name };
        faults.forbidden(format!("{at}.{shown}"), "cannot be set");
    }
}
