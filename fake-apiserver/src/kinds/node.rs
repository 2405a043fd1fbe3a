//! Nodes: defaults, taint of new nodes, validation and columns.

use super::pod::resources;
use super::resource_definition::not_supported;
use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StrategyContext, Subresource};
use crate::config::admission::Plugin;
use crate::kinds::columns::Cell::{Of, Text, TextOr};
use crate::kinds::columns::{AGE, NAME, condition, text, text_or_default, wide};
use crate::machinery::error_list::ErrorList;
use crate::machinery::selector::{Selectable, selectable};
use crate::machinery::{json, names};
use serde_json::{Value, json};
use std::collections::HashSet;

use std::net::IpAddr;

pub(super) static NODE: ResourceDefinition = ResourceDefinition {
    kind: "Node",
    metadata_checks: MetadataChecks::core_v1_checks(2).with_status_passes(1, true),
    plural: "nodes",
    registry: Some("minions"),
    short_names: &["no"],
    namespaced: false,
    status: true,
    subresources: &[Subresource::Proxy],
    status_on_create: true,
    hooks: Hooks {
        default: node_default,
        create: node_create,
        update: node_update,
        validate: node_validate,
        validate_update: node_validate_update,
        validate_status: node_validate_update,
        warn: node_warn,
        ..NO_HOOKS
    },
    selectable: &[Selectable {
        absent: "false",
        ..selectable("spec.unschedulable", &["/spec/unschedulable"])
    }],
    unknown_label: not_supported,
    columns: &[
        NAME,
        text("Status", Of(node_status)),
        text("Roles", Of(node_roles)),
        AGE,
        text("Version", Text("/status/nodeInfo/kubeletVersion")),
        wide("Internal-IP", Of(|o| node_address(o, "InternalIP"))),
        wide("External-IP", Of(|o| node_address(o, "ExternalIP"))),
        wide("OS-Image", TextOr("/status/nodeInfo/osImage", "<unknown>")),
        wide(
            "Kernel-Version",
            TextOr("/status/nodeInfo/kernelVersion", "<unknown>"),
        ),
        wide(
            "Container-Runtime",
            TextOr("/status/nodeInfo/containerRuntimeVersion", "<unknown>"),
        ),
    ],
    ..PLAIN
};

/// Sets an unset `allocatable` to `capacity`, and synchronizes `podCIDRs` with the older field `podCIDR`.
fn node_default(object: &mut Value) {
    let range = object["spec"]["podCIDR"]
        .as_str()
        .filter(|range| !range.is_empty());
    if let Some(range) = range.map(str::to_owned) {
        let ranges = json::texts(&object["spec"]["podCIDRs"]);
        // If `podCIDR` differs from the first entry of `podCIDRs`, `podCIDR` takes precedence.
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

/// The TaintNodesByCondition admission plugin: taints a new node as not ready. In a cluster, the node lifecycle controller removes the
/// taint.
fn node_create(object: &mut Value, setting: &StrategyContext<'_>) {
    // Drops a field of dynamic kubelet configuration, which was removed from Kubernetes.
    json::assign(&mut object["spec"], "configSource", Value::Null);
    json::assign(&mut object["status"], "config", Value::Null);
    let taints = setting.options.admission.has(Plugin::TaintNodesByCondition);
    if setting.options.kubelet_less || !taints {
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

/// Fields of dynamic kubelet configuration are dropped from an updated node unless the old node has the fields.
fn node_update(new: &mut Value, old: &Value, _: &StrategyContext<'_>) {
    for (part, field) in [("spec", "configSource"), ("status", "config")] {
        if old[part][field].is_null() {
            json::assign(&mut new[part], field, Value::Null);
        }
    }
}

/// Warns about node fields that have no effect.
fn node_warn(new: &Value, _: &Value) -> Vec<String> {
    if new["spec"]["externalID"].as_str().is_none_or(str::is_empty) {
        return Vec::new();
    }
    vec!["spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned()]
}

fn node_validate(object: &Value, errors: &mut ErrorList) {
    node_taints(object, errors);
    node_amounts(object, errors);
    let ranges = json::texts(&object["spec"]["podCIDRs"]);
    for (i, range) in ranges.iter().enumerate() {
        if !is_range(range) {
            let text = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            errors.invalid(format!("spec.podCIDRs[{i}]"), *range, text);
        }
    }
    let first_invalid = ranges.iter().position(|range| !is_range(range));
    if let Some(i) = first_invalid.filter(|_| ranges.len() > 1) {
        let why = format!("invalid CIDR[{i}]: <nil> (invalid CIDR address: {})", ranges[i]);
        let why = format!("invalid PodCIDRs. failed to check with dual stack with error:{why}");
        errors.internal("spec.podCIDRs", &why);
    }
    let of_ipv6 = ranges.iter().filter(|range| range.contains(':')).count();
    if ranges.len() > 2 || ranges.len() == 2 && (of_ipv6 != 1 || first_invalid.is_some()) {
        let all = object["spec"]["podCIDRs"].clone();
        errors.invalid(
            "spec.podCIDRs",
            all,
            "may specify no more than one CIDR for each IP family",
        );
    }
}

fn node_taints(object: &Value, errors: &mut ErrorList) {
    let taints = json::list(&object["spec"]["taints"]);
    for (i, taint) in taints.iter().enumerate() {
        let text = |field: &str| taint[field].as_str().unwrap_or_default();
        let at = format!("metadata.taints[{i}]");
        errors.invalid_all(
            &format!("{at}.key"),
            text("key"),
            names::qualified_name(text("key")),
        );
        let complaints = names::label_value(text("value"));
        if !complaints.is_empty() {
            errors.invalid(format!("{at}.value"), text("value"), &complaints.join(";"));
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        match text("effect") {
            "" => errors.required(format!("{at}.effect"), ""),
            effect => errors.one_of(&format!("{at}.effect"), effect, &effects),
        }
        let same = |other: &&Value| other["key"] == taint["key"] && other["effect"] == taint["effect"];
        if taints[..i].iter().any(|other| same(&other)) {
            // The error message contains the taint as a Go struct.
            let shown = format!(
                "{{\"Key\":{:?},\"Value\":{:?},\"Effect\":{:?},\"TimeAdded\":{}}}",
                text("key"),
                text("value"),
                text("effect"),
                taint["timeAdded"]
            );
            let why = "taints must be unique by key and effect pair";
            errors.duplicate_because(at, &shown, why);
        }
    }
}

/// Whether a text is a CIDR: an IP address and a prefix length.
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

fn node_amounts(object: &Value, errors: &mut ErrorList) {
    for list in ["capacity", "allocatable"] {
        for (name, amount) in json::string_members(&object["status"][list]) {
            // For an empty resource name, the field path ends in `[]`, like the path of a list entry.
            let member = if name.is_empty() {
                "[]".to_owned()
            } else {
                format!(".{name}")
            };
            resources::quantity(name, amount, &format!("status.{list}{member}"), errors);
        }
    }
}

/// Validates an update: fields are immutable once set. (As in kube-apiserver, quantities and taints are validated a second time.)
fn node_validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    node_amounts(new, errors);
    let addresses = json::list(&new["status"]["addresses"]);
    let mut seen = HashSet::new();
    for (i, address) in addresses.iter().enumerate() {
        if !seen.insert((address["type"].as_str(), address["address"].as_str())) {
            // The error message contains the address as a Go struct.
            let shown = format!(
                "{{\"Type\":{},\"Address\":{}}}",
                address["type"], address["address"]
            );
            errors.duplicate_as(format!("status.addresses[{i}]"), &shown);
        }
    }
    validate_node_set_once_fields(&new["spec"], &old["spec"], errors);
    node_taints(new, errors);
    let id = |node: &Value| node["spec"]["externalID"].as_str().unwrap_or_default().to_owned();
    if id(new) != id(old) {
        errors.forbidden("spec.externalID", "may not be updated");
    }
}

fn validate_node_set_once_fields(new: &Value, old: &Value, errors: &mut ErrorList) {
    let ranges = |spec: &Value| json::texts(&spec["podCIDRs"]).len();
    let only = |what: &str| format!("node updates may not change {what} except from \"\" to valid");
    if ranges(old) > 0 && new["podCIDRs"] != old["podCIDRs"] {
        errors.forbidden("spec.podCIDRs", &only("podCIDR"));
    }
    let before = old["providerID"].as_str().unwrap_or_default();
    if !before.is_empty() && new["providerID"] != *before {
        errors.forbidden("spec.providerID", &only("providerID"));
    }
}

fn node_status(node: &Value) -> Value {
    let word = match condition(node, "Ready") {
        None => "Unknown",
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
    };
    let is_cordoned = node["spec"]["unschedulable"] == true;
    format!("{word}{}", if is_cordoned { ",SchedulingDisabled" } else { "" }).into()
}

fn node_roles(node: &Value) -> Value {
    let labels = json::string_members(&node["metadata"]["labels"]);
    let roles = labels.filter_map(
        |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            None if key == "kubernetes.io/role" => Some(value),
            role => role,
        },
    );
    let roles: Vec<&str> = roles.filter(|role| !role.is_empty()).collect();
    text_or_default(&roles.join(","), "<none>")
}

fn node_address(node: &Value, of: &str) -> Value {
    let addresses = json::list(&node["status"]["addresses"]).iter();
    let mut found = addresses
        .filter(|one| one["type"] == of)
        .filter_map(|one| one["address"].as_str());
    text_or_default(found.next().unwrap_or_default(), "<none>")
}
