//! Validation that PersistentVolumes and PVCs have in common: access modes, class names, quantities, finalizers.

use crate::config::admission::Plugin;
use crate::kinds::StrategyContext;
use crate::machinery::error_list::ErrorList;
use crate::machinery::quantity::Quantity;
use crate::machinery::{json, metadata, names};
use serde_json::Value;

/// Access modes, in the order in which kube-apiserver lists the supported values.
const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// The StorageObjectInUseProtection admission plugin: adds `finalizer` to a PVC, PersistentVolume or VolumeAttributesClass.
pub(in crate::kinds) fn add_protection_finalizer(
    object: &mut Value,
    setting: &StrategyContext<'_>,
    finalizer: &str,
) {
    let admission = &setting.options.admission;
    if admission.has(Plugin::StorageObjectInUseProtection) {
        metadata::add_finalizer(object, finalizer);
    }
}

/// Validates the class name in the field `name` of the spec, if the field is set.
pub(super) fn class_name(spec: &Value, name: &str, at: &str, errors: &mut ErrorList) {
    if let Some(class) = spec[name].as_str().filter(|class| !class.is_empty()) {
        errors.invalid_all(&format!("{at}.{name}"), class, names::subdomain(class));
    }
}

/// Validates access modes: all must be known, and the combination must be valid.
pub(super) fn access_modes(spec: &Value, at: &str, errors: &mut ErrorList) {
    let modes = json::texts(&spec["accessModes"]);
    let field = format!("{at}.accessModes");
    for mode in &modes {
        errors.one_of(&field, mode, &ACCESS_MODES);
    }
    let other = |mode: &&str| *mode != "ReadWriteOncePod" && ACCESS_MODES.contains(mode);
    if modes.contains(&"ReadWriteOncePod") && modes.iter().any(other) {
        errors.forbidden(field, "may not use ReadWriteOncePod with other access modes");
    }
}

pub(super) fn volume_mode(spec: &Value, at: &str, errors: &mut ErrorList) {
    if let Some(mode) = spec["volumeMode"].as_str() {
        errors.one_of(&format!("{at}.volumeMode"), mode, &["Block", "Filesystem"]);
    }
}

/// Rejects a negative quantity. The error contains the quantity as a number.
pub(super) fn reject_negative(field: &str, text: &str, errors: &mut ErrorList) {
    if let Ok(amount) = text.parse::<Quantity>()
        && amount.is_negative()
    {
        errors.invalid(field, amount.value(), "must be a valid resource quantity");
    }
}

pub(super) fn positive(field: &str, text: &str, errors: &mut ErrorList) {
    if text
        .parse::<Quantity>()
        .is_ok_and(|q| q.is_zero() || q.is_negative())
    {
        errors.invalid(field, text, "must be greater than zero");
    }
}

/// The STATUS cell of a PersistentVolume or PVC: the phase, or `Terminating`.
pub(super) fn phase(object: &Value) -> Value {
    match metadata::is_deleting(object) {
        true => "Terminating".into(),
        false => json::string(&object["status"], "phase").into(),
    }
}

pub(super) fn access_mode_abbreviations(list: &Value) -> Value {
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

/// Metadata fields that a template must not set, in the order of the Go struct.
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

/// Validates the metadata of a template, which may only have labels and annotations (`ValidateTemplateObjectMeta`).
pub(in crate::kinds) fn template_metadata(template: &Value, at: &str, errors: &mut ErrorList) {
    metadata::validate_annotations(&template["annotations"], &format!("{at}.annotations"), errors);
    metadata::validate_labels(&template["labels"], &format!("{at}.labels"), errors);
    for name in NOT_IN_TEMPLATES.iter().filter(|name| !template[**name].is_null()) {
        // kube-apiserver derives this field name from the Go struct.
        let shown = if *name == "uid" { "uID" } else { name };
        errors.forbidden(format!("{at}.{shown}"), "cannot be set");
    }
}
