//! PersistentVolumeClaims: defaults, validation, and the fields that an update may change.

use super::super::internal_form;
use super::super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StrategyContext, selectors};
use super::claim_source;
use super::rules::{
    access_mode_abbreviations, access_modes, add_protection_finalizer, class_name, phase, positive,
    reject_negative, volume_mode,
};
use crate::kinds::columns::Cell::{Of, Text, TextOr};
use crate::kinds::columns::{AGE, NAME, text, text_or_default, wide};
use crate::machinery::error_list::ErrorList;
use crate::machinery::quantity::Quantity;
use crate::machinery::{json, names};
use serde_json::{Value, json};

pub(in crate::kinds) static PERSISTENT_VOLUME_CLAIM: ResourceDefinition = ResourceDefinition {
    kind: "PersistentVolumeClaim",
    metadata_checks: MetadataChecks::core_v1_checks(2).with_status_passes(1, true),
    plural: "persistentvolumeclaims",
    short_names: &["pvc"],
    status: true,
    returns_deleted: true,
    hooks: Hooks {
        default: claim_default,
        create: claim_create,
        update: |claim, old, _| {
            claim_source::drop_new_unsupported_sources(&mut claim["spec"], &old["spec"]);
            claim_source::synchronize_sources(&mut claim["spec"]);
        },
        validate: claim_validate,
        validate_update: claim_validate_update,
        validate_status: claim_validate_status,
        warn: |claim, _| spec_warn(&claim["spec"], "spec"),
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text("Status", Of(phase)),
        text("Volume", Text("/spec/volumeName")),
        text(
            "Capacity",
            Of(|o| {
                if_bound(
                    o,
                    &text_or_default(json::string(&o["status"]["capacity"], "storage"), "0"),
                )
            }),
        ),
        text(
            "Access Modes",
            Of(|o| if_bound(o, &access_mode_abbreviations(&o["status"]["accessModes"]))),
        ),
        text("StorageClass", Text("/spec/storageClassName")),
        text(
            "VolumeAttributesClass",
            TextOr("/spec/volumeAttributesClassName", "<unset>"),
        ),
        AGE,
        wide("VolumeMode", TextOr("/spec/volumeMode", "<unset>")),
    ],
    ..PLAIN
};

fn claim_default(object: &mut Value) {
    json::member(object, "status")
        .entry("phase")
        .or_insert_with(|| "Pending".into());
    claim_spec_default(&mut object["spec"]);
}

/// Sets the defaults of the spec of a PVC, also in the template of an ephemeral volume.
pub(in crate::kinds) fn claim_spec_default(spec: &mut Value) {
    json::default_member(spec, "volumeMode", "Filesystem");
}

fn claim_create(object: &mut Value, setting: &StrategyContext<'_>) {
    object["status"] = json!({"phase": "Pending"});
    claim_source::drop_unsupported_sources(&mut object["spec"]);
    claim_source::synchronize_sources(&mut object["spec"]);
    add_protection_finalizer(object, setting, "kubernetes.io/pvc-protection");
}

fn claim_validate(object: &Value, errors: &mut ErrorList) {
    spec_validate(&object["spec"], "spec", errors);
}

/// Validates the spec of a PVC, also in the template of an ephemeral volume.
pub(in crate::kinds) fn spec_validate(spec: &Value, at: &str, errors: &mut ErrorList) {
    if json::texts(&spec["accessModes"]).is_empty() {
        errors.required(format!("{at}.accessModes"), "at least 1 access mode is required");
    }
    selectors::labels(&spec["selector"], &format!("{at}.selector"), errors);
    access_modes(spec, at, errors);
    let field = format!("{at}.resources[storage]");
    match spec["resources"]["requests"]["storage"].as_str() {
        None => errors.required(field, ""),
        Some(text) => positive(&field, text, errors),
    }
    class_name(spec, "storageClassName", at, errors);
    volume_mode(spec, at, errors);
    claim_source::validate(spec, at, errors);
    class_name(spec, "volumeAttributesClassName", at, errors);
}

/// Warns about fractional numbers of bytes. In canonical form, only quantities with the suffix `m`, `u` or `n` are fractional.
pub(in crate::kinds) fn spec_warn(spec: &Value, at: &str) -> Vec<String> {
    let amounts = ["requests", "limits"].map(|side| (side, spec["resources"][side]["storage"].as_str()));
    let fractional = amounts
        .into_iter()
        .filter_map(|(side, text)| Some((side, text.filter(|text| text.ends_with(['m', 'u', 'n']))?)));
    let warnings = fractional.map(|(side, text)| {
        format!(
            "{at}.resources.{side}[storage]: fractional byte value {text:?} is invalid, must be an integer"
        )
    });
    warnings.collect()
}

/// A PVC's spec is immutable, except that the PVC may be bound once, an unset class may be set once, and the storage
/// request of a bound PVC may grow.
fn claim_validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
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
            json::assign(&mut allowed, name, spec[name].clone());
        }
    }
    let requests = spec["resources"].get("requests");
    if let Some(resources) = allowed.get_mut("resources").filter(|_| bound) {
        match requests {
            Some(requests) if resources["requests"].is_object() => {
                json::assign(&mut resources["requests"], "storage", requests["storage"].clone());
            }
            // If `storage` was the only request, `requests` is empty without it, and an empty map counts as unset.
            None if resources["requests"]
                .as_object()
                .is_some_and(|all| all.len() == 1) =>
            {
                json::assign(resources, "requests", Value::Null);
            }
            _ => {}
        }
    }
    if *spec != allowed {
        let rule = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
            claims";
        errors.forbidden(
            "spec",
            &format!(
                "{rule}\n{}",
                internal_form::diff("PersistentVolumeClaimSpec", &allowed, spec)
            ),
        );
    }
    // An unset storage quantity counts as 0.
    let size = |claim: &Value, at: &str| {
        let text = claim.pointer(at).and_then(Value::as_str).unwrap_or("0");
        text.parse::<Quantity>().ok()
    };
    let requested = size(new, "/spec/resources/requests/storage");
    let had = size(old, "/spec/resources/requests/storage");
    let has = size(old, "/status/capacity/storage");
    if requested < had && requested <= has {
        let text = "field can not be less than status.capacity";
        errors.forbidden("spec.resources.requests.storage", text);
    }
    errors.require_unchanged("volumeMode", &spec["volumeMode"], &before["volumeMode"]);
    validate_class_retained(new, old, errors);
}

/// Validates that the class name is not unset after a VolumeAttributesClass was applied.
fn validate_class_retained(new: &Value, old: &Value, errors: &mut ErrorList) {
    let field = "spec.volumeAttributesClassName";
    let unset = "is forbidden when status.currentVolumeAttributesClassName is not nil";
    let (now, before) = (
        &new["spec"]["volumeAttributesClassName"],
        &old["spec"]["volumeAttributesClassName"],
    );
    if now == before || old["status"]["currentVolumeAttributesClassName"].is_null() {
        return;
    }
    if now.is_null() {
        errors.forbidden(field, &format!("update to nil {unset}"));
    } else if *now == "" {
        errors.forbidden(field, &format!("update to empty string {unset}"));
    }
}

/// Resize statuses, in the order in which kube-apiserver lists the supported values.
const RESIZES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

fn claim_validate_status(new: &Value, _: &Value, errors: &mut ErrorList) {
    let status = &new["status"];
    for (name, amount) in json::string_members(&status["capacity"]) {
        reject_negative(&format!("status.capacity[{name}]"), amount, errors);
    }
    let field = "status.allocatedResourceStatuses";
    for (name, resize) in json::string_members(&status["allocatedResourceStatuses"]) {
        resource_key(name, field, errors);
        if !RESIZES.contains(&resize) {
            errors.not_supported(field, name, &RESIZES);
        }
    }
    let field = "status.allocatedResources";
    for (name, amount) in json::string_members(&status["allocatedResources"]) {
        if resource_key(name, field, errors) {
            reject_negative(&format!("{field}[{name}]"), amount, errors);
        }
    }
}

/// Validates a resource name: `storage`, or a name with a domain. Returns whether it is valid.
fn resource_key(name: &str, field: &str, errors: &mut ErrorList) -> bool {
    let complaints = names::qualified_name(name);
    if !complaints.is_empty() {
        errors.invalid_all(field, name, complaints);
        return false;
    }
    let known = name == "storage" || (name.contains('/') && !name.contains("kubernetes.io/"));
    if !known {
        errors.not_supported(field, name, &["storage"]);
    }
    known
}

/// The content of a cell that is empty until the PVC is bound.
fn if_bound(claim: &Value, text: &Value) -> Value {
    let is_bound = !json::string(&claim["spec"], "volumeName").is_empty();
    text.as_str().filter(|_| is_bound).unwrap_or_default().into()
}
