//! VolumeAttachment: validation, also of inline volumes. No controller attaches volumes.

use super::volume::{driver_name, inline_validate, source_default};
use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StatusMetadata, StrategyContext};
use crate::kinds::columns::Cell::{Flag, Text};
use crate::kinds::columns::{AGE, NAME, boolean, name, text};
use crate::machinery::error_list::ErrorList;
use crate::machinery::{json, names};
use serde_json::{Value, json};

const METADATA_BYTES_MAX: usize = 256 << 10;
const MESSAGE_BYTES_MAX: usize = 1024;

pub(super) static VOLUME_ATTACHMENT: ResourceDefinition = ResourceDefinition {
    group: "storage.k8s.io",
    kind: "VolumeAttachment",
    metadata_checks: MetadataChecks::core_v1_checks(1)
        .without_comparison()
        .with_status_passes(1, false),
    plural: "volumeattachments",
    status_metadata: StatusMetadata::Described,
    status_resets: &[&["spec"], &["metadata"]],
    namespaced: false,
    status: true,
    unconditional_update: false,
    returns_deleted: true,
    hooks: Hooks {
        default: attachment_default,
        create: attachment_create,
        validate: attachment_validate,
        validate_update: attachment_validate_update,
        validate_status: |new, old, errors| {
            attachment_validate(new, errors);
            attachment_validate_update(new, old, errors);
        },
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        name("Attacher", Text("/spec/attacher")),
        text("PV", Text("/spec/source/persistentVolumeName")),
        text("Node", Text("/spec/nodeName")),
        boolean("Attached", Flag("/status/attached")),
        AGE,
    ],
    ..PLAIN
};

fn attachment_default(object: &mut Value) {
    if let Some(spec) = object.pointer_mut("/spec/source/inlineVolumeSpec") {
        source_default(spec);
    }
}

fn attachment_create(object: &mut Value, _: &StrategyContext<'_>) {
    object["status"] = json!({"attached": false});
}

fn attachment_validate(object: &Value, errors: &mut ErrorList) {
    let spec = &object["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    driver_name(&text(&spec["attacher"]), "spec.attacher", errors);
    let (volume, inline) = (
        &spec["source"]["persistentVolumeName"],
        &spec["source"]["inlineVolumeSpec"],
    );
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (volume.is_null(), inline.is_null()) {
        (true, true) => errors.required("spec.source", one),
        (false, false) => errors.forbidden("spec.source", one),
        (true, false) => inline_validate(inline, "spec.source.inlineVolumeSpec", errors),
        (false, true) if *volume == "" => {
            let text = "must specify non empty persistentVolumeName";
            errors.required("spec.source.persistentVolumeName", text);
        }
        _ => {}
    }
    let node = text(&spec["nodeName"]);
    errors.invalid_all("spec.nodeName", &node, names::subdomain(&node));
    attachment_validate_status(object, errors);
    if let Some(volume) = volume.as_str() {
        errors.invalid_all(
            "spec.source.persistentVolumeName",
            volume,
            names::subdomain(volume),
        );
    }
}

/// Validates the size of the attachment metadata and of error messages.
fn attachment_validate_status(object: &Value, errors: &mut ErrorList) {
    let status = &object["status"];
    let bytes: usize = json::string_members(&status["attachmentMetadata"])
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if bytes > METADATA_BYTES_MAX {
        errors.too_long("status.attachmentMetadata", METADATA_BYTES_MAX);
    }
    for error in ["attachError", "detachError"] {
        let (error, at) = (&status[error], format!("status.{error}"));
        if json::string(error, "message").len() > MESSAGE_BYTES_MAX {
            // As in kube-apiserver, the error contains the limit of the metadata instead of the limit of the message.
            errors.too_long(format!("{at}.message"), METADATA_BYTES_MAX);
        }
        let code = &error["errorCode"];
        if code.as_i64().is_some_and(|code| code < 0) {
            let why = "must be between 0 and 2147483647, inclusive";
            errors.invalid(format!("{at}.errorCode"), code.clone(), why);
        }
    }
}

fn attachment_validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    if new["spec"] == old["spec"] {
        return;
    }
    // The error message contains the spec as a Go struct, with Go's field names.
    let (spec, source) = (&new["spec"], &new["spec"]["source"]);
    let shown = format!(
        "{{\"Attacher\":{},\"Source\":{{\"PersistentVolumeName\":{},\"InlineVolumeSpec\":{}}},\"NodeName\":{}}}",
        spec["attacher"], source["persistentVolumeName"], source["inlineVolumeSpec"], spec["nodeName"]
    );
    errors.invalid_as("spec", &shown, "field is immutable");
}
