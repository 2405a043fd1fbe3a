//! IPAddress, NetworkPolicy and ServiceCIDR: stored and shown; there is no network.

use super::{Generation, Hooks, NO_HOOKS, PLAIN, Row};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Join, Labels, Of};
use crate::kinds::columns::{AGE, NAME, or, text};
use crate::machinery::faults::Faults;
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
        validate: policy_validate,
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

/// A range of ports begins with a number, and ends after it.
fn policy_validate(object: &Value, faults: &mut Faults) {
    for way in ["ingress", "egress"] {
        for (i, rule) in json::list(&object["spec"][way]).iter().enumerate() {
            for (j, port) in json::list(&rule["ports"]).iter().enumerate() {
                let at = format!("spec.{way}[{i}].ports[{j}]");
                policy_port(port, &at, faults);
            }
        }
    }
}

fn policy_port(port: &Value, at: &str, faults: &mut Faults) {
    const PORT: &str = "must be between 1 and 65535, inclusive";
    let is_port = |number: i64| (1..=65_535).contains(&number);
    if let Some(protocol) = port["protocol"].as_str() {
        faults.one_of(&format!("{at}.protocol"), protocol, &["SCTP", "TCP", "UDP"]);
    }
    if let Some(number) = port["port"].as_i64().filter(|number| !is_port(*number)) {
        faults.invalid(format!("{at}.port"), number, PORT);
    }
    let Some(end) = port["endPort"].as_i64() else {
        return;
    };
    match &port["port"] {
        Value::Null => {
            let text = "may not be specified when `port` is not specified";
            faults.invalid(format!("{at}.endPort"), end, text);
        }
        Value::String(_) => {
            let text = "may not be specified when `port` is non-numeric";
            faults.invalid(format!("{at}.endPort"), end, text);
        }
        first => {
            if first.as_i64().is_some_and(|first| end < first) {
                let text = "must be greater than or equal to `port`";
                faults.invalid(format!("{at}.endPort"), first.clone(), text);
            }
            if !is_port(end) {
                faults.invalid(format!("{at}.endPort"), end, PORT);
            }
        }
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
