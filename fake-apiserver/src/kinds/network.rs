//! networking.k8s.io and discovery.k8s.io: stored and shown; there is no network.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN};
use crate::config::release::Life;
use crate::kinds::columns;
use crate::machinery::names::Complaints;
use serde_json::{Value, json};
use std::net::IpAddr;

const NETWORKING: Kind = Kind {
    group: "networking.k8s.io",
    ..PLAIN
};

pub(super) static ENDPOINT_SLICE: Kind = Kind {
    kind: "EndpointSlice",
    plural: "endpointslices",
    singular: "endpointslice",
    group: "discovery.k8s.io",
    generation_of: &["endpoints", "ports"],
    generation: Generation::FromCreation,
    printer: &columns::ENDPOINT_SLICE,
    life: Life::since(21),
    ..PLAIN
};

pub(super) static INGRESS_CLASS: Kind = Kind {
    kind: "IngressClass",
    plural: "ingressclasses",
    singular: "ingressclass",
    namespaced: false,
    generation: Generation::FromCreation,
    printer: &columns::INGRESS_CLASS,
    life: Life::since(19),
    ..NETWORKING
};

pub(super) static INGRESS: Kind = Kind {
    kind: "Ingress",
    plural: "ingresses",
    singular: "ingress",
    short_names: &["ing"],
    status: true,
    generation: Generation::FromCreation,
    printer: &columns::INGRESS,
    life: Life::since(19),
    ..NETWORKING
};

pub(super) static IP_ADDRESS: Kind = Kind {
    kind: "IPAddress",
    plural: "ipaddresses",
    singular: "ipaddress",
    short_names: &["ip"],
    namespaced: false,
    name_rule: ip,
    printer: &columns::IP_ADDRESS,
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

pub(super) static NETWORK_POLICY: Kind = Kind {
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    singular: "networkpolicy",
    short_names: &["netpol"],
    generation: Generation::FromCreation,
    hooks: Hooks {
        default: policy_default,
        ..NO_HOOKS
    },
    printer: &columns::NETWORK_POLICY,
    ..NETWORKING
};

/// A policy is about what comes in, and about what goes out if it says something of that.
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

pub(super) static SERVICE_CIDR: Kind = Kind {
    kind: "ServiceCIDR",
    plural: "servicecidrs",
    singular: "servicecidr",
    namespaced: false,
    status: true,
    printer: &columns::SERVICE_CIDR,
    life: Life::since(33),
    ..NETWORKING
};
