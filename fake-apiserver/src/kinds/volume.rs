//! Volumes and claims.

use super::claim_diff;
use super::claim_source;
use super::{Hooks, Kind, NO_HOOKS, PLAIN, Setting};
use crate::faults::Faults;
use crate::meta;
use crate::names;
use crate::printer;
use crate::quantity::Quantity;
use serde_json::{Value, json};

/// In the order in which the server lists what it supports.
const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// Members of a volume spec that are not its source.
const NOT_A_SOURCE: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

pub(super) static PERSISTENT_VOLUME_CLAIM: Kind = Kind {
    kind: "PersistentVolumeClaim",
    plural: "persistentvolumeclaims",
    singular: "persistentvolumeclaim",
    short_names: &["pvc"],
    status: true,
    returns_deleted: true,
    hooks: Hooks {
        default: claim_default,
        create: claim_create,
        update: |claim, _, _| claim_source::equalize(&mut claim["spec"]),
        validate: claim_validate,
        validate_update: claim_validate_update,
        ..NO_HOOKS
    },
    printer: &printer::CLAIM,
    ..PLAIN
};

fn claim_default(object: &mut Value) {
    meta::member(object, "status")
        .entry("phase")
        .or_insert_with(|| "Pending".into());
    claim_spec_default(&mut object["spec"]);
}

/// Defaults of a claim's spec, also inside pods.
pub(super) fn claim_spec_default(spec: &mut Value) {
    meta::default_member(spec, "volumeMode", "Filesystem");
}

fn claim_create(object: &mut Value, setting: &Setting<'_>) {
    object["status"] = json!({"phase": "Pending"});
    claim_source::restrict(&mut object["spec"]);
    claim_source::equalize(&mut object["spec"]);
    protect(object, setting, "kubernetes.io/pvc-protection");
}

/// StorageObjectInUseProtection.
fn protect(object: &mut Value, setting: &Setting<'_>, finalizer: &str) {
    if !setting.options.storage_protection || meta::finalizers(object).contains(&finalizer) {
        return;
    }
    let list = meta::edit(object)
        .entry("finalizers")
        .or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        list.push(finalizer.into());
    }
}

fn claim_validate(object: &Value, faults: &mut Faults) {
    let spec = &object["spec"];
    access_modes(spec, faults);
    match spec["resources"]["requests"]["storage"].as_str() {
        None => faults.required("spec.resources[storage]", ""),
        Some(text) => positive("spec.resources[storage]", text, faults),
    }
    if let Some(class) = spec["storageClassName"]
        .as_str()
        .filter(|class| !class.is_empty())
    {
        meta::complain(faults, "spec.storageClassName", class, names::subdomain(class));
    }
    volume_mode(spec, faults);
}

fn access_modes(spec: &Value, faults: &mut Faults) {
    let modes = meta::texts(&spec["accessModes"]);
    if modes.is_empty() {
        faults.required("spec.accessModes", "at least 1 access mode is required");
    }
    for mode in &modes {
        if !ACCESS_MODES.contains(mode) {
            faults.not_supported("spec.accessModes", *mode, &ACCESS_MODES);
        }
    }
    if modes.len() > 1 && modes.contains(&"ReadWriteOncePod") {
        let text = "may not use ReadWriteOncePod with other access modes";
        faults.forbidden("spec.accessModes", text);
    }
}

fn volume_mode(spec: &Value, faults: &mut Faults) {
    if let Some(mode) = spec["volumeMode"].as_str()
        && !["Block", "Filesystem"].contains(&mode)
    {
        faults.not_supported("spec.volumeMode", mode, &["Block", "Filesystem"]);
    }
}

fn positive(field: &str, text: &str, faults: &mut Faults) {
    if text
        .parse::<Quantity>()
        .is_ok_and(|q| q.is_zero() || q.is_negative())
    {
        faults.invalid(field, text, "must be greater than zero");
    }
}

/// A claim's spec stays as it is, except that it may be bound once, that a class may be filled in once and that a
/// bound claim may ask for more.
fn claim_validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    let (spec, before) = (&new["spec"], &old["spec"]);
    let bound = new["status"]["phase"] == "Bound";
    let mut allowed = before.clone();
    for (name, open) in [
        (
            "volumeName",
            before["volumeName"].as_str().unwrap_or_default().is_empty(),
        ),
        ("storageClassName", before["storageClassName"].is_null()),
        ("volumeAttributesClassName", bound),
    ] {
        if open {
            meta::assign(&mut allowed, name, spec[name].clone());
        }
    }
    if let Some(requests) = allowed.pointer_mut("/resources/requests").filter(|_| bound) {
        meta::assign(
            requests,
            "storage",
            spec["resources"]["requests"]["storage"].clone(),
        );
    }
    if *spec != allowed {
        let rule = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
            claims";
        faults.forbidden("spec", &format!("{rule}\n{}", claim_diff::diff(&allowed, spec)));
    }
    let size = |claim: &Value, at: &str| {
        claim
            .pointer(at)
            .and_then(Value::as_str)
            .and_then(|t| t.parse::<Quantity>().ok())
    };
    let asked = size(new, "/spec/resources/requests/storage");
    let had = size(old, "/spec/resources/requests/storage");
    let has = size(old, "/status/capacity/storage");
    if bound && asked < had && asked <= has {
        let text = "field can not be less than status.capacity";
        faults.forbidden("spec.resources.requests.storage", text);
    }
}

pub(super) static PERSISTENT_VOLUME: Kind = Kind {
    kind: "PersistentVolume",
    plural: "persistentvolumes",
    singular: "persistentvolume",
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
        ..NO_HOOKS
    },
    printer: &printer::VOLUME,
    ..PLAIN
};

fn volume_default(object: &mut Value) {
    meta::member(object, "status")
        .entry("phase")
        .or_insert_with(|| "Pending".into());
    let spec = meta::member(object, "spec");
    for (name, value) in [
        ("persistentVolumeReclaimPolicy", "Retain"),
        ("volumeMode", "Filesystem"),
    ] {
        spec.entry(name).or_insert_with(|| value.into());
    }
}

fn volume_create(object: &mut Value, setting: &Setting<'_>) {
    object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": setting.now});
    protect(object, setting, "kubernetes.io/pv-protection");
}

fn volume_update(new: &mut Value, old: &Value, setting: &Setting<'_>) {
    if new["status"]["phase"] != old["status"]["phase"] {
        new["status"]["lastPhaseTransitionTime"] = setting.now.into();
    } else if let Some(time) = old["status"].get("lastPhaseTransitionTime") {
        meta::member(new, "status")
            .entry("lastPhaseTransitionTime")
            .or_insert_with(|| time.clone());
    }
}

fn volume_validate(object: &Value, faults: &mut Faults) {
    let spec = &object["spec"];
    access_modes(spec, faults);
    let capacity = spec["capacity"].as_object();
    if capacity.is_none_or(serde_json::Map::is_empty) {
        faults.required("spec.capacity", "");
    }
    for (name, amount) in capacity.into_iter().flatten() {
        if name != "storage" {
            faults.not_supported(
                "spec.capacity",
                capacity
                    .into_iter()
                    .flatten()
                    .map(|(k, _)| k.as_str())
                    .collect::<Value>(),
                &["storage"],
            );
        }
        positive(
            &format!("spec.capacity[{name}]"),
            amount.as_str().unwrap_or_default(),
            faults,
        );
    }
    let sources = spec
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(k, _)| !NOT_A_SOURCE.contains(&k.as_str()));
    match sources.count() {
        0 => faults.required("spec", "must specify a volume type"),
        1 => {}
        _ => faults.forbidden("spec", "may not specify more than 1 volume type"),
    }
    let policy = spec["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default();
    if !["Delete", "Recycle", "Retain"].contains(&policy) {
        let field = "spec.persistentVolumeReclaimPolicy";
        faults.not_supported(field, policy, &["Delete", "Recycle", "Retain"]);
    }
    if let Some(class) = spec["storageClassName"]
        .as_str()
        .filter(|class| !class.is_empty())
    {
        meta::complain(faults, "spec.storageClassName", class, names::subdomain(class));
    }
    volume_mode(spec, faults);
}

fn volume_validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    let source = |volume: &Value| -> Value {
        let spec = volume["spec"].as_object();
        spec.into_iter()
            .flatten()
            .filter(|(k, _)| !NOT_A_SOURCE.contains(&k.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    };
    if source(new) != source(old) {
        faults.forbidden(
            "spec.persistentvolumesource",
            "spec.persistentvolumesource is immutable after creation",
        );
    }
    faults.unchanged(
        "spec.volumeMode",
        &new["spec"]["volumeMode"],
        &old["spec"]["volumeMode"],
    );
    if !old["spec"]["nodeAffinity"].is_null() {
        faults.unchanged(
            "spec.nodeAffinity",
            &new["spec"]["nodeAffinity"],
            &old["spec"]["nodeAffinity"],
        );
    }
}
