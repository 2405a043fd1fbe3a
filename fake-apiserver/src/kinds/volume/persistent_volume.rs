//! PersistentVolume: defaults, validation, and the fields that an update may change.

use super::super::internal_form;
use super::super::selectors::{self, LabelValueCheck};
use super::super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StrategyContext};
use super::rules::{
    access_mode_abbreviations, access_modes, add_protection_finalizer, class_name, phase, positive,
    reject_negative, volume_mode,
};
use super::{plugins, source};
use crate::kinds::columns::Cell::{Of, Text, TextOr};
use crate::kinds::columns::{AGE, NAME, text, wide};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json;
use serde_json::{Value, json};

pub(in crate::kinds) static PERSISTENT_VOLUME: ResourceDefinition = ResourceDefinition {
    kind: "PersistentVolume",
    metadata_checks: MetadataChecks::core_v1_checks(2)
        .without_comparison()
        .with_status_passes(1, true),
    plural: "persistentvolumes",
    short_names: &["pv"],
    namespaced: false,
    status: true,
    returns_deleted: true,
    hooks: Hooks {
        default: volume_default,
        create: volume_create,
        update: volume_update,
        validate: volume_validate,
        validate_update: volume_validate_update,
        warn: volume_warn,
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text("Capacity", Text("/spec/capacity/storage")),
        text(
            "Access Modes",
            Of(|o| access_mode_abbreviations(&o["spec"]["accessModes"])),
        ),
        text("Reclaim Policy", Text("/spec/persistentVolumeReclaimPolicy")),
        text("Status", Of(phase)),
        text("Claim", Of(claim_of)),
        text("StorageClass", Text("/spec/storageClassName")),
        text(
            "VolumeAttributesClass",
            TextOr("/spec/volumeAttributesClassName", "<unset>"),
        ),
        text("Reason", Text("/status/reason")),
        AGE,
        wide("VolumeMode", TextOr("/spec/volumeMode", "<unset>")),
    ],
    ..PLAIN
};

fn volume_default(object: &mut Value) {
    json::member(object, "status")
        .entry("phase")
        .or_insert_with(|| "Pending".into());
    source_default(&mut object["spec"]);
    let spec = json::member(object, "spec");
    for (name, value) in [
        ("persistentVolumeReclaimPolicy", "Retain"),
        ("volumeMode", "Filesystem"),
    ] {
        spec.entry(name).or_insert_with(|| value.into());
    }
}

/// Sets the defaults of a volume source, in PersistentVolumes and in the inline volume of a VolumeAttachment.
pub(in crate::kinds) fn source_default(spec: &mut Value) {
    if let Some(path) = spec.get_mut("hostPath").filter(|path| path.is_object()) {
        json::default_member(path, "type", "");
    }
    plugins::default(spec);
}

fn volume_create(object: &mut Value, setting: &StrategyContext<'_>) {
    object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": setting.now});
    add_protection_finalizer(object, setting, "kubernetes.io/pv-protection");
}

fn volume_update(new: &mut Value, old: &Value, setting: &StrategyContext<'_>) {
    if new["status"]["phase"] != old["status"]["phase"] {
        new["status"]["lastPhaseTransitionTime"] = setting.now.into();
    } else if let Some(time) = old["status"].get("lastPhaseTransitionTime") {
        json::member(new, "status")
            .entry("lastPhaseTransitionTime")
            .or_insert_with(|| time.clone());
    }
}

fn volume_validate(object: &Value, errors: &mut ErrorList) {
    volume_spec_validate(&object["spec"], "spec", errors);
}

/// Warns about the deprecated reclaim policy `Recycle`.
fn volume_warn(new: &Value, _: &Value) -> Vec<String> {
    let text = "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the \
        recommended approach is to use dynamic provisioning.";
    let is_recycled = new["spec"]["persistentVolumeReclaimPolicy"] == "Recycle";
    is_recycled.then(|| text.to_owned()).into_iter().collect()
}

/// Validates the inline volume spec of a VolumeAttachment, which permits only a CSI source and few other fields.
pub(in crate::kinds) fn inline_validate(spec: &Value, at: &str, errors: &mut ErrorList) {
    let refuse = |name: &str, errors: &mut ErrorList| {
        let text = "may not be specified in the context of inline volumes";
        errors.forbidden(format!("{at}.{name}"), text);
    };
    let is_set = |name: &str| match &spec[name] {
        Value::Object(members) if name == "capacity" => !members.is_empty(),
        Value::String(text) => !text.is_empty(),
        other => !other.is_null(),
    };
    for name in ["claimRef", "capacity"].into_iter().filter(|name| is_set(name)) {
        refuse(name, errors);
    }
    if spec["csi"].is_null() {
        let text = "has to be specified in the context of inline volumes";
        errors.required(format!("{at}.csi"), text);
    }
    some_access_modes(spec, at, errors);
    let policy = spec["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default();
    if !["", "Retain"].contains(&policy) {
        let text = "may only be Retain in the context of inline volumes";
        errors.forbidden(format!("{at}.persistentVolumeReclaimPolicy"), text);
    }
    if is_set("nodeAffinity") {
        refuse("nodeAffinity", errors);
    }
    source::validate(spec, at, errors);
    if is_set("storageClassName") {
        refuse("storageClassName", errors);
    }
    if !spec["volumeMode"].is_null() && spec["volumeMode"] != "Filesystem" {
        let text = "may not specify volumeMode other than Filesystem in the context of inline volumes";
        errors.forbidden(format!("{at}.volumeMode"), text);
    }
}

fn volume_spec_validate(spec: &Value, at: &str, errors: &mut ErrorList) {
    some_access_modes(spec, at, errors);
    capacity(&spec["capacity"], &format!("{at}.capacity"), errors);
    let policy = spec["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default();
    let field = format!("{at}.persistentVolumeReclaimPolicy");
    errors.one_of(&field, policy, &["Delete", "Recycle", "Retain"]);
    let affinity = &spec["nodeAffinity"];
    let field = format!("{at}.nodeAffinity.required");
    if !affinity["required"].is_null() {
        selectors::nodes(&affinity["required"], &field, LabelValueCheck::Labels, errors);
    } else if !affinity.is_null() {
        errors.required(field, "must specify required node constraints");
    }
    source::validate(spec, at, errors);
    let root = spec["hostPath"]["path"].as_str().is_some_and(|path| {
        !path.is_empty() && path.split('/').all(|part| ["", "."].contains(&part)) && path.starts_with('/')
    });
    if root && policy == "Recycle" {
        let text = "may not be 'recycle' for a hostPath mount of '/'";
        errors.forbidden(format!("{at}.persistentVolumeReclaimPolicy"), text);
    }
    class_name(spec, "storageClassName", at, errors);
    volume_mode(spec, at, errors);
    if spec["volumeAttributesClassName"] == "" {
        let field = format!("{at}.volumeAttributesClassName");
        errors.required(field, "an empty string is disallowed");
    }
    class_name(spec, "volumeAttributesClassName", at, errors);
    if !spec["volumeAttributesClassName"].is_null() && spec["csi"].is_null() {
        let text = "has to be specified when using volumeAttributesClassName";
        errors.required(format!("{at}.csi"), text);
    }
}

fn capacity(capacity: &Value, field: &str, errors: &mut ErrorList) {
    let amounts = capacity.as_object();
    if amounts.is_none_or(serde_json::Map::is_empty) {
        errors.required(field, "");
    }
    if amounts.is_none_or(|amounts| amounts.len() != 1 || !amounts.contains_key("storage")) {
        errors.not_supported(field, capacity.clone(), &["storage"]);
    }
    for (name, amount) in amounts.into_iter().flatten() {
        let text = amount.as_str().unwrap_or_default();
        reject_negative(&format!("{field}[{name}]"), text, errors);
        positive(&format!("{field}[{name}]"), text, errors);
    }
}

/// Validates access modes: at least one is required, and all must be access modes that Kubernetes defines.
fn some_access_modes(spec: &Value, at: &str, errors: &mut ErrorList) {
    if json::texts(&spec["accessModes"]).is_empty() {
        errors.required(format!("{at}.accessModes"), "");
    }
    access_modes(spec, at, errors);
}

fn volume_validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    // As in kube-apiserver, an update validates the whole object again.
    volume_validate(new, errors);
    let (new, old) = (&new["spec"], &old["spec"]);
    let mut sources = [new, old].map(source::source_fields);
    let secret = "/csi/controllerExpandSecretRef";
    if old.pointer(secret).is_none()
        && let [now, _] = &mut sources
        && let Some(csi) = now.get_mut("csi")
    {
        // `controllerExpandSecretRef` may be added once, although the source is immutable.
        json::assign(csi, "controllerExpandSecretRef", Value::Null);
    }
    if let [now, before] = &sources
        && now != before
    {
        let rule = "spec.persistentvolumesource is immutable after creation";
        let diff = internal_form::diff("PersistentVolumeSource", before, now);
        errors.forbidden("spec.persistentvolumesource", &format!("{rule}\n{diff}"));
    }
    errors.require_unchanged("volumeMode", &new["volumeMode"], &old["volumeMode"]);
    let affinity = &new["nodeAffinity"];
    if !old["nodeAffinity"].is_null() && *affinity != old["nodeAffinity"] {
        let text = "field is immutable, except for updating from beta label to GA";
        let shown = internal_form::format_compact("*VolumeNodeAffinity", affinity);
        errors.invalid_as("nodeAffinity", &shown, text);
    }
    if !old["volumeAttributesClassName"].is_null() && new["volumeAttributesClassName"].is_null() {
        let text = "update from non-nil value to nil is forbidden";
        errors.forbidden("spec.volumeAttributesClassName", text);
    }
}

fn claim_of(volume: &Value) -> Value {
    let claim = &volume["spec"]["claimRef"];
    match claim["name"].as_str() {
        Some(name) => format!("{}/{name}", json::string(claim, "namespace")).into(),
        None => "".into(),
    }
}
