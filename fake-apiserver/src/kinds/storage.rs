//! StorageClass, VolumeAttachment and VolumeAttributesClass.

use super::{Hooks, Kind, NO_HOOKS, PLAIN, Setting};
use crate::faults::Faults;
use crate::meta;
use crate::names;
use crate::printer;
use crate::release::Life;
use serde_json::{Value, json};
use std::collections::HashSet;

pub(super) static STORAGE_CLASS: Kind = Kind {
    group: "storage.k8s.io",
    kind: "StorageClass",
    plural: "storageclasses",
    singular: "storageclass",
    short_names: &["sc"],
    namespaced: false,
    returns_deleted: true,
    hooks: Hooks {
        default: class_default,
        validate: class_validate,
        validate_update: |new, old, faults| {
            faults.members_unchanged(
                new,
                old,
                &["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"],
            );
        },
        ..NO_HOOKS
    },
    printer: &printer::STORAGE_CLASS,
    ..PLAIN
};

fn class_default(object: &mut Value) {
    for (name, value) in [("reclaimPolicy", "Delete"), ("volumeBindingMode", "Immediate")] {
        meta::default_member(object, name, value);
    }
}

fn class_validate(object: &Value, faults: &mut Faults) {
    let provisioner = object["provisioner"].as_str().unwrap_or_default();
    if provisioner.is_empty() {
        faults.required("provisioner", "");
    } else {
        meta::complain(
            faults,
            "provisioner",
            provisioner,
            names::qualified(&provisioner.to_lowercase()),
        );
    }
    let policy = object["reclaimPolicy"].as_str().unwrap_or_default();
    faults.one_of("reclaimPolicy", policy, &["Delete", "Retain"]);
    let mode = object["volumeBindingMode"].as_str().unwrap_or_default();
    faults.one_of("volumeBindingMode", mode, &["Immediate", "WaitForFirstConsumer"]);
    for (i, term) in object["allowedTopologies"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        for (j, requirement) in term["matchLabelExpressions"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let at = format!("allowedTopologies[{i}].matchLabelExpressions[{j}]");
            topology(requirement, &at, faults);
        }
    }
}

fn topology(requirement: &Value, at: &str, faults: &mut Faults) {
    let key = requirement["key"].as_str().unwrap_or_default();
    let values = meta::texts(&requirement["values"]);
    if values.is_empty() {
        faults.required(format!("{at}.values"), "");
    }
    let mut seen = HashSet::new();
    for (i, value) in values.iter().enumerate() {
        if !seen.insert(value) {
            faults.duplicate(format!("{at}.values[{i}]"), *value);
        }
    }
    meta::complain(faults, &format!("{at}.key"), key, names::qualified(key));
}

pub(super) static VOLUME_ATTACHMENT: Kind = Kind {
    group: "storage.k8s.io",
    kind: "VolumeAttachment",
    plural: "volumeattachments",
    singular: "volumeattachment",
    namespaced: false,
    status: true,
    unconditional_update: false,
    returns_deleted: true,
    hooks: Hooks {
        create: attachment_create,
        ..NO_HOOKS
    },
    printer: &printer::VOLUME_ATTACHMENT,
    ..PLAIN
};

fn attachment_create(object: &mut Value, _: &Setting<'_>) {
    object["status"] = json!({"attached": false});
}

pub(super) static VOLUME_ATTRIBUTES_CLASS: Kind = Kind {
    group: "storage.k8s.io",
    kind: "VolumeAttributesClass",
    plural: "volumeattributesclasses",
    singular: "volumeattributesclass",
    short_names: &["vac"],
    namespaced: false,
    unconditional_update: false,
    returns_deleted: true,
    hooks: Hooks {
        validate: |object, faults| {
            if object["driverName"].as_str().is_none_or(str::is_empty) {
                faults.required("driverName", "");
            }
        },
        validate_update: |new, old, faults| faults.members_unchanged(new, old, &["driverName", "parameters"]),
        ..NO_HOOKS
    },
    printer: &printer::VOLUME_ATTRIBUTES_CLASS,
    life: Life::since(34),
    ..PLAIN
};
