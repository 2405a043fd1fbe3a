//! Small kinds of the core group, and leases.

use super::pod::resources;
use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN, Selectable, Setting, Subresource};
use crate::kinds::columns;
use crate::machinery::faults::Faults;
use crate::machinery::json;
use crate::machinery::meta;
use crate::machinery::names;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::net::IpAddr;

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
    end: Some(namespace_end),
    undeletable: &["default", "kube-public", "kube-system"],
    hooks: Hooks {
        default: namespace_default,
        create: namespace_create,
        update: namespace_update,
        validate: namespace_validate,
        validate_status: namespace_validate_status,
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
    printer: &columns::NAMESPACE,
    ..PLAIN
};

fn namespace_default(object: &mut Value) {
    let name = meta::text(object, "name").to_owned();
    if !name.is_empty() {
        json::member(&mut object["metadata"], "labels")
            .insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
}

fn namespace_create(object: &mut Value, _: &Setting<'_>) {
    let mut finalizers = object["spec"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if !finalizers.contains(&json!("kubernetes")) {
        finalizers.push("kubernetes".into());
    }
    object["spec"] = json!({"finalizers": finalizers});
    object["status"] = json!({"phase": "Active"});
}

fn namespace_end(object: &mut Value) {
    meta::set(object, "deletionGracePeriodSeconds", None);
    object["status"]["phase"] = "Terminating".into();
}

/// `spec.finalizers` changes through `/finalize` only.
fn namespace_update(new: &mut Value, old: &Value, _: &Setting<'_>) {
    new["spec"] = old["spec"].clone();
}

fn namespace_validate(object: &Value, faults: &mut Faults) {
    for finalizer in json::texts(&object["spec"]["finalizers"]) {
        let complaints = names::qualified(finalizer);
        let is_wrong = !complaints.is_empty();
        faults.complain("spec.finalizers", finalizer, complaints);
        if !is_wrong && !finalizer.contains('/') && !["kubernetes", "orphan"].contains(&finalizer) {
            let text = "name is neither a standard finalizer name nor is it fully qualified";
            faults.invalid("spec.finalizers", finalizer, text);
        }
    }
}

/// A namespace is terminating when its deletion has begun, and only then.
fn namespace_validate_status(new: &Value, _: &Value, faults: &mut Faults) {
    let phase = new["status"]["phase"].as_str().unwrap_or_default();
    let (only, when) = match meta::is_deleting(new) {
        true => ("Terminating", "not empty"),
        false => ("Active", "empty"),
    };
    if phase != only {
        let text = format!("may only be '{only}' if `deletionTimestamp` is {when}");
        faults.invalid("status.Phase", phase, &text);
    }
}

pub(super) static NODE: Kind = Kind {
    kind: "Node",
    plural: "nodes",
    singular: "node",
    short_names: &["no"],
    namespaced: false,
    status: true,
    keeps_status: true,
    hooks: Hooks {
        default: node_default,
        create: node_create,
        update: node_update,
        validate: node_validate,
        validate_update: node_validate_update,
        validate_status: node_validate_status,
        warn: node_warn,
        ..NO_HOOKS
    },
    selectable: &[Selectable {
        label: "spec.unschedulable",
        pointers: &["/spec/unschedulable"],
    }],
    unknown_label: not_supported,
    printer: &columns::NODE,
    ..PLAIN
};

/// Allocatable follows from capacity where nothing else is said, and the list of ranges from the one range of old.
fn node_default(object: &mut Value) {
    let range = object["spec"]["podCIDR"]
        .as_str()
        .filter(|range| !range.is_empty());
    if let Some(range) = range.map(str::to_owned) {
        let ranges = json::texts(&object["spec"]["podCIDRs"]);
        // Where they differ, the one of old counts.
        if ranges.first().is_none_or(|first| *first != range) {
            object["spec"]["podCIDRs"] = json!([range]);
        }
    } else if let Some(first) = json::texts(&object["spec"]["podCIDRs"])
        .first()
        .map(|first| (*first).to_owned())
    {
        object["spec"]["podCIDR"] = first.into();
    }
    if let Some(capacity) = object["status"].get("capacity").cloned() {
        json::default_member(&mut object["status"], "allocatable", capacity);
    }
}

/// TaintNodesByCondition: nothing schedules to a node before its controller has seen it ready.
fn node_create(object: &mut Value, setting: &Setting<'_>) {
    // Kubelets are not configured through the server any more.
    json::assign(&mut object["spec"], "configSource", Value::Null);
    json::assign(&mut object["status"], "config", Value::Null);
    if setting.options.kubelet_less {
        return;
    }
    let taints = json::member(object, "spec")
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

/// What nodes had once they may keep, but nothing of the kind comes anew.
fn node_update(new: &mut Value, old: &Value, _: &Setting<'_>) {
    for (part, field) in [("spec", "configSource"), ("status", "config")] {
        if old[part][field].is_null() {
            json::assign(&mut new[part], field, Value::Null);
        }
    }
}

/// Fields that nobody reads any more.
fn node_warn(new: &Value, _: &Value) -> Vec<String> {
    if new["spec"]["externalID"].as_str().is_none_or(str::is_empty) {
        return Vec::new();
    }
    vec!["spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned()]
}

fn node_validate(object: &Value, faults: &mut Faults) {
    node_taints(object, faults);
    node_amounts(object, faults);
    for (i, range) in json::texts(&object["spec"]["podCIDRs"]).into_iter().enumerate() {
        if !is_range(range) {
            let text = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            faults.invalid(format!("spec.podCIDRs[{i}]"), range, text);
        }
    }
}

fn node_taints(object: &Value, faults: &mut Faults) {
    let taints = json::list(&object["spec"]["taints"]);
    for (i, taint) in taints.iter().enumerate() {
        let text = |field: &str| taint[field].as_str().unwrap_or_default();
        let at = format!("metadata.taints[{i}]");
        faults.complain(&format!("{at}.key"), text("key"), names::qualified(text("key")));
        let complaints = names::label_value(text("value"));
        if !complaints.is_empty() {
            faults.invalid(format!("{at}.value"), text("value"), &complaints.join(";"));
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        match text("effect") {
            "" => faults.required(format!("{at}.effect"), ""),
            effect => faults.one_of(&format!("{at}.effect"), effect, &effects),
        }
        let same = |other: &&Value| other["key"] == taint["key"] && other["effect"] == taint["effect"];
        if taints[..i].iter().any(|other| same(&other)) {
            // The value that is shown is of the server's own type.
            let shown = format!(
                "{{\"Key\":{:?},\"Value\":{:?},\"Effect\":{:?},\"TimeAdded\":{}}}",
                text("key"),
                text("value"),
                text("effect"),
                taint["timeAdded"]
            );
            let why = "taints must be unique by key and effect pair";
            faults.duplicate_because(at, &shown, why);
        }
    }
}

/// Whether a text is an address and the length of its prefix.
fn is_range(text: &str) -> bool {
    let parts = text.split_once('/');
    parts.is_some_and(|(address, length)| {
        let most = match address.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => 32,
            Ok(IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        length.parse::<u8>().is_ok_and(|length| length <= most)
    })
}

fn node_amounts(object: &Value, faults: &mut Faults) {
    for list in ["capacity", "allocatable"] {
        for (name, amount) in json::pairs(&object["status"][list]) {
            resources::quantity(name, amount, &format!("status.{list}.{name}"), faults);
        }
    }
}

/// What a node was given once stays. (The real server judges amounts and taints again.)
fn node_validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    node_amounts(new, faults);
    let addresses = new["status"]["addresses"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let mut seen = HashSet::new();
    for (i, address) in addresses.iter().enumerate() {
        if !seen.insert((address["type"].as_str(), address["address"].as_str())) {
            // The value that is shown is of the server's own type.
            let shown = format!(
                "{{\"Type\":{},\"Address\":{}}}",
                address["type"], address["address"]
            );
            faults.duplicate_as(format!("status.addresses[{i}]"), &shown);
        }
    }
    node_given(&new["spec"], &old["spec"], faults);
    node_taints(new, faults);
    let id = |node: &Value| node["spec"]["externalID"].as_str().unwrap_or_default().to_owned();
    if id(new) != id(old) {
        faults.forbidden("spec.externalID", "may not be updated");
    }
}

fn node_validate_status(new: &Value, old: &Value, faults: &mut Faults) {
    node_validate_update(new, old, faults);
}

fn node_given(new: &Value, old: &Value, faults: &mut Faults) {
    let ranges = |spec: &Value| json::texts(&spec["podCIDRs"]).len();
    let only = |what: &str| format!("node updates may not change {what} except from \"\" to valid");
    if ranges(old) > 0 && new["podCIDRs"] != old["podCIDRs"] {
        faults.forbidden("spec.podCIDRs", &only("podCIDR"));
    }
    let before = old["providerID"].as_str().unwrap_or_default();
    if !before.is_empty() && new["providerID"] != *before {
        faults.forbidden("spec.providerID", &only("providerID"));
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
        create: |lease, _| drop_election(lease),
        update: |lease, _, _| drop_election(lease),
        validate: lease_validate,
        ..NO_HOOKS
    },
    printer: &columns::LEASE,
    ..PLAIN
};

/// Drops the fields of coordinated leader election, which is off.
fn drop_election(lease: &mut Value) {
    for field in ["preferredHolder", "strategy"] {
        json::assign(&mut lease["spec"], field, Value::Null);
    }
}

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
