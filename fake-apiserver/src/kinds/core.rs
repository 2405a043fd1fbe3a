//! Small kinds of the core group, and leases.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN, Selectable, Setting, Subresource};
use crate::faults::Faults;
use crate::meta;
use crate::names;
use crate::printer;
use serde_json::{Value, json};

/// Labels that the core kinds with a selector table of their own refuse.
pub(super) fn not_supported(label: &str) -> String {
    format!("field label not supported: {label}")
}

pub(super) static NAMESPACE: Kind = Kind {
    kind: "Namespace",
    plural: "namespaces",
    singular: "namespace",
    short_names: &["ns"],
    namespaced: false,
    status: true,
    subresources: &[Subresource::Finalize],
    name_rule: names::label,
    deletes_collection: false,
    returns_deleted: true,
    hooks: Hooks {
        default: namespace_default,
        create: namespace_create,
        update: namespace_update,
        ..NO_HOOKS
    },
    selectable: &[
        Selectable {
            label: "status.phase",
            pointers: &["/status/phase"],
        },
        Selectable {
            label: "name",
            pointers: &["/metadata/name"],
        },
    ],
    unknown_label: not_supported,
    printer: &printer::NAMESPACE,
    ..PLAIN
};

fn namespace_default(object: &mut Value) {
    let name = meta::text(object, "name").to_owned();
    if !name.is_empty() {
        meta::member(&mut object["metadata"], "labels")
            .insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
}

fn namespace_create(object: &mut Value, _: &Setting<'_>) {
    object["spec"] = json!({"finalizers": ["kubernetes"]});
    object["status"] = json!({"phase": "Active"});
}

/// `spec.finalizers` changes through `/finalize` only.
fn namespace_update(new: &mut Value, old: &Value, _: &Setting<'_>) {
    new["spec"] = old["spec"].clone();
}

pub(super) static NODE: Kind = Kind {
    kind: "Node",
    plural: "nodes",
    singular: "node",
    short_names: &["no"],
    namespaced: false,
    status: true,
    hooks: Hooks {
        default: node_default,
        create: node_create,
        validate: node_validate,
        ..NO_HOOKS
    },
    selectable: &[Selectable {
        label: "spec.unschedulable",
        pointers: &["/spec/unschedulable"],
    }],
    unknown_label: not_supported,
    printer: &printer::NODE,
    ..PLAIN
};

/// Allocatable follows from capacity where nothing else is said, and the ranges of addresses from the first of them.
fn node_default(object: &mut Value) {
    if let Some(range) = object["spec"]
        .get("podCIDR")
        .filter(|range| range.is_string())
        .cloned()
    {
        meta::default_member(&mut object["spec"], "podCIDRs", json!([range]));
    }
    if let Some(capacity) = object["status"].get("capacity").cloned() {
        meta::default_member(&mut object["status"], "allocatable", capacity);
    }
}

/// TaintNodesByCondition: nothing schedules to a node before its controller has seen it ready.
fn node_create(object: &mut Value, setting: &Setting<'_>) {
    if setting.options.kubelet_less {
        return;
    }
    let taints = meta::member(object, "spec")
        .entry("taints")
        .or_insert_with(|| json!([]));
    let key = "node.kubernetes.io/not-ready";
    if let Some(list) = taints.as_array_mut()
        && !list
            .iter()
            .any(|t| t["key"] == key && t["effect"] == "NoSchedule")
    {
        list.push(json!({"key": key, "effect": "NoSchedule"}));
    }
}

fn node_validate(object: &Value, faults: &mut Faults) {
    for (i, taint) in object["spec"]["taints"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let key = taint["key"].as_str().unwrap_or_default();
        meta::complain(
            faults,
            &format!("spec.taints[{i}].key"),
            key,
            names::qualified(key),
        );
    }
}

pub(super) static SERVICE_ACCOUNT: Kind = Kind {
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    singular: "serviceaccount",
    short_names: &["sa"],
    subresources: &[Subresource::Token],
    unconditional_update: false,
    returns_deleted: true,
    ..PLAIN
};

pub(super) static LEASE: Kind = Kind {
    group: "coordination.k8s.io",
    kind: "Lease",
    plural: "leases",
    singular: "lease",
    generation: Generation::None,
    unconditional_update: false,
    create_on_update: true,
    hooks: Hooks {
        validate: lease_validate,
        ..NO_HOOKS
    },
    printer: &printer::LEASE,
    ..PLAIN
};

fn lease_validate(object: &Value, faults: &mut Faults) {
    let spec = &object["spec"];
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64()
        && seconds <= 0
    {
        faults.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
    }
    if let Some(count) = spec["leaseTransitions"].as_i64()
        && count < 0
    {
        faults.invalid(
            "spec.leaseTransitions",
            count,
            "must be greater than or equal to 0",
        );
    }
}
