//! networking.k8s.io and discovery.k8s.io: stored and shown; there is no network.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Join, Labels, Of, Text};
use crate::kinds::columns::{AGE, NAME, count, first, or, text};
use crate::machinery::json;
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
    columns: &[
        NAME,
        text("AddressType", Text("/addressType")),
        text("Ports", Of(slice_ports)),
        text("Endpoints", Of(slice_addresses)),
        AGE,
    ],
    life: Life::since(21),
    ..PLAIN
};

pub(super) static INGRESS_CLASS: Kind = Kind {
    kind: "IngressClass",
    plural: "ingressclasses",
    singular: "ingressclass",
    namespaced: false,
    generation: Generation::FromCreation,
    columns: &[
        NAME,
        text("Controller", Text("/spec/controller")),
        text("Parameters", Of(class_parameters)),
        AGE,
    ],
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
    columns: &[
        NAME,
        text("Class", Of(ingress_class)),
        text("Hosts", Of(ingress_hosts)),
        text("Address", Of(ingress_addresses)),
        text(
            "Ports",
            Of(|o| {
                if count(&o["spec"]["tls"]) > 0 {
                    "80, 443"
                } else {
                    "80"
                }
                .into()
            }),
        ),
        AGE,
    ],
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

pub(super) static SERVICE_CIDR: Kind = Kind {
    kind: "ServiceCIDR",
    plural: "servicecidrs",
    singular: "servicecidr",
    namespaced: false,
    status: true,
    columns: &[NAME, text("CIDRs", Join("/spec/cidrs", "")), AGE],
    life: Life::since(33),
    ..NETWORKING
};

/// How many entries of a list a cell shows.
const SHOWN: usize = 3;

fn slice_ports(slice: &Value) -> Value {
    let ports = json::list(&slice["ports"]).iter();
    let number = |port: &Value| {
        port["port"]
            .as_i64()
            .map_or_else(|| "*".to_owned(), |port| port.to_string())
    };
    let ports: Vec<String> = ports.map(number).collect();
    or(&first(&ports, SHOWN, ","), "<unset>")
}

fn slice_addresses(slice: &Value) -> Value {
    let endpoints = json::list(&slice["endpoints"]).iter();
    let addresses = endpoints.flat_map(|endpoint| json::texts(&endpoint["addresses"]));
    let addresses: Vec<String> = addresses.map(str::to_owned).collect();
    or(&first(&addresses, SHOWN, ","), "<unset>")
}

fn class_parameters(class: &Value) -> Value {
    let parameters = &class["spec"]["parameters"];
    if !parameters.is_object() {
        return "<none>".into();
    }
    let group = match json::string(parameters, "apiGroup") {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let (kind, name) = (json::string(parameters, "kind"), json::string(parameters, "name"));
    format!("{kind}{group}/{name}").into()
}

fn ingress_class(ingress: &Value) -> Value {
    let annotated = ingress["metadata"]["annotations"]["kubernetes.io/ingress.class"].as_str();
    let class = ingress["spec"]["ingressClassName"].as_str().or(annotated);
    or(class.unwrap_or_default(), "<none>")
}

fn ingress_hosts(ingress: &Value) -> Value {
    let rules = json::list(&ingress["spec"]["rules"]).iter();
    let hosts = rules.filter_map(|rule| rule["host"].as_str()).map(str::to_owned);
    or(&first(&hosts.collect::<Vec<_>>(), SHOWN, ","), "*")
}

fn ingress_addresses(ingress: &Value) -> Value {
    let all = json::list(&ingress["status"]["loadBalancer"]["ingress"]).iter();
    let addresses = all.filter_map(|one| one["ip"].as_str().or(one["hostname"].as_str()));
    addresses.collect::<Vec<_>>().join(",").into()
}

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
