//! IPAddress, NetworkPolicy and ServiceCIDR: stored and shown; there is no network.

use super::{Generation, Hooks, NO_HOOKS, PLAIN, Row};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Join, Labels, Of};
use crate::kinds::columns::{AGE, NAME, or, text};
use crate::machinery::json;
use crate::machinery::names::Complaints;
use serde_json::{Value, json};
use std::net::IpAddr;

pub(super) const NETWORKING: Row = Row {
    group: "networking.k8s.io",
    ..PLAIN
};

pub(super) static IP_ADDRESS: Row = Row {
    kind: "IPAddress",
    plural: "ipaddresses",
    singular: "ipaddress",
    short_names: &["ip"],
    namespaced: false,
    name_rule: ip,
    columns: &[NAME, text("ParentRef", Of(address_parent))],
    life: Life::since(33),
    ..NETWORKING
};

fn ip(name: &str) -> Complaints {
    // The canonical form is the only one that parses and prints alike.
    match name.parse::<IpAddr>() {
        Ok(address) if address.to_string() == name => Complaints::new(),
        _ => vec!["must be a valid IP address in canonical form".to_owned()],
    }
}

pub(super) static NETWORK_POLICY: Row = Row {
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    singular: "networkpolicy",
    short_names: &["netpol"],
    generation: Generation::FromCreation,
    hooks: Hooks {
        default: policy_default,
        ..NO_HOOKS
    },
    columns: &[NAME, text("Pod-Selector", Labels("/spec/podSelector")), AGE],
    ..NETWORKING
};

/// A policy is about ingress, and about egress if it has egress rules.
fn policy_default(object: &mut Value) {
    let spec = &object["spec"];
    if spec["policyTypes"].is_null() {
        let out = spec["egress"].as_array().is_some_and(|rules| !rules.is_empty());
        object["spec"]["policyTypes"] = if out {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
    }
}

pub(super) static SERVICE_CIDR: Row = Row {
    kind: "ServiceCIDR",
    plural: "servicecidrs",
    singular: "servicecidr",
    namespaced: false,
    status: true,
    columns: &[NAME, text("CIDRs", Join("/spec/cidrs", "")), AGE],
    life: Life::since(33),
    ..NETWORKING
};

fn address_parent(address: &Value) -> Value {
    let parent = &address["spec"]["parentRef"];
    let resource = match (json::string(parent, "resource"), json::string(parent, "group")) {
        ("", _) | (_, "") => json::string(parent, "resource").to_owned(),
        (resource, group) => format!("{resource}.{group}"),
    };
    let words = [
        &resource,
        json::string(parent, "namespace"),
        json::string(parent, "name"),
    ];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    or(&words.join("/"), "<none>")
}
