//! EndpointSlice: defaults, rules and what is shown.

use super::endpoints::{protocol, reachable};
use super::{Generation, Hooks, MetadataChecks, NO_HOOKS, PLAIN, Row, Setting};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Of, Text};
use crate::kinds::columns::{AGE, NAME, first, or, text};
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string, texts};
use crate::machinery::names::Complaints;
use crate::machinery::{ip, metadata, names};
use serde_json::Value;
use std::collections::HashSet;

pub(super) static ENDPOINT_SLICE: Row = Row {
    kind: "EndpointSlice",
    metadata_checks: MetadataChecks::core(1).alone(),
    plural: "endpointslices",
    singular: "endpointslice",
    group: "discovery.k8s.io",
    generation_of: &["/endpoints", "/ports"],
    generation: Generation::FromCreation,
    hooks: Hooks {
        default: slice_default,
        create: |slice, _| drop_topology(slice),
        update: slice_update,
        validate_create: |slice, faults| validate(slice, None, faults),
        validate_update: |new, old, faults| {
            validate(new, Some(old), faults);
            faults.members_unchanged(new, old, &["addressType"]);
        },
        warn: slice_warn,
        ..NO_HOOKS
    },
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

/// How many entries of a list a cell shows.
pub(super) const SHOWN: usize = 3;

const FAMILIES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
const HINTS_MAX: usize = 8;
/// Who has written a slice, and who of them write addresses in their canonical form.
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const CONTROLLERS: [&str; 2] = [
    "endpointslice-controller.k8s.io",
    "endpointslicemirroring-controller.k8s.io",
];

fn slice_default(slice: &mut Value) {
    for port in json::entries(slice, "/ports") {
        json::default_member(port, "name", "");
        json::default_member(port, "protocol", "TCP");
    }
}

/// What older versions said of where an endpoint is cannot be written in this one.
fn drop_topology(slice: &mut Value) {
    for endpoint in json::entries(slice, "/endpoints") {
        json::assign(endpoint, "deprecatedTopology", Value::Null);
    }
}

/// Other labels make a new generation, too: those who read slices choose them by their labels.
fn slice_update(new: &mut Value, old: &Value, _: &Setting<'_>) {
    drop_topology(new);
    let has_labels = |slice: &Value| json::pairs(&slice["metadata"]["labels"]).next().is_some();
    let labels = |slice: &Value| slice["metadata"]["labels"].clone();
    if labels(new) != labels(old) && (has_labels(new) || has_labels(old)) {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
        metadata::set(new, "generation", Some((generation + 1).into()));
    }
}

fn validate(slice: &Value, old: Option<&Value>, faults: &mut Faults) {
    match string(slice, "addressType") {
        "" => faults.required("addressType", ""),
        family => faults.one_of("addressType", family, &FAMILIES),
    }
    ports(list(&slice["ports"]), faults);
    // What is there stays, whatever it is.
    if old.is_none_or(|old| old["endpoints"] != slice["endpoints"]) {
        endpoints(slice, faults);
    }
}

fn ports(ports: &[Value], faults: &mut Faults) {
    if ports.len() > PORTS_MAX {
        return faults.too_many("ports", ports.len(), PORTS_MAX);
    }
    let mut seen = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let at = format!("ports[{i}]");
        let (field, name) = (format!("{at}.name"), string(port, "name"));
        if !name.is_empty() {
            faults.complain(&field, name, names::label(name));
        }
        if !seen.insert(name) {
            faults.duplicate(field, name);
        }
        protocol(port, &at, faults);
    }
}

fn endpoints(slice: &Value, faults: &mut Faults) {
    let endpoints = list(&slice["endpoints"]);
    if endpoints.len() > ENDPOINTS_MAX {
        return faults.too_many("endpoints", endpoints.len(), ENDPOINTS_MAX);
    }
    for (i, endpoint) in endpoints.iter().enumerate() {
        let at = format!("endpoints[{i}]");
        addresses(endpoint, string(slice, "addressType"), &at, faults);
        if let Some(node) = endpoint["nodeName"].as_str() {
            faults.complain(&format!("{at}.nodeName"), node, names::subdomain(node));
        }
        if let Some(host) = endpoint["hostname"].as_str() {
            faults.complain(&format!("{at}.hostname"), host, names::label(host));
        }
        let hints = &endpoint["hints"];
        let zones = hint(hints, "forZones", names::label_value, &at, faults);
        if zones {
            hint(hints, "forNodes", names::subdomain, &at, faults);
        }
    }
}

fn addresses(endpoint: &Value, family: &str, at: &str, faults: &mut Faults) {
    let (list, addresses) = (format!("{at}.addresses"), texts(&endpoint["addresses"]));
    if addresses.is_empty() {
        faults.required(list.as_str(), "must contain at least 1 address");
    } else if addresses.len() > ADDRESSES_MAX {
        faults.too_many(list.as_str(), addresses.len(), ADDRESSES_MAX);
    }
    for (i, text) in addresses.into_iter().enumerate() {
        let field = format!("{list}[{i}]");
        let (complaints, is_ipv4) = match family {
            "IPv4" => (ip::any_form(text), true),
            "IPv6" => (ip::canonical(text), false),
            "FQDN" => {
                domain(text, &field, faults);
                continue;
            }
            _ => continue,
        };
        if !complaints.is_empty() {
            faults.complain(&field, text, complaints);
            continue;
        }
        // It is the list that is named here.
        if ip::parse(text).is_some_and(|address| ip::is_ipv4(address) != is_ipv4) {
            faults.invalid(list.as_str(), text, &format!("must be an {family} address"));
        }
        reachable(text, &field, faults);
    }
}

/// The rules for a name of two parts or more.
fn domain(text: &str, field: &str, faults: &mut Faults) {
    if text.is_empty() {
        return faults.required(field, "");
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let complaints = names::subdomain(name);
    if !complaints.is_empty() {
        return faults.invalid(field, name, &complaints.join(","));
    }
    if !name.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        return faults.invalid(field, name, why);
    }
    let mut labels = name.split('.').map(|label| (label, names::label(label)));
    if let Some((label, complaints)) = labels.find(|(_, complaints)| !complaints.is_empty()) {
        faults.invalid(field, label, &complaints.join(","));
    }
}

/// The rules for hints of one kind; false where there are too many.
fn hint(hints: &Value, name: &str, rule: fn(&str) -> Complaints, at: &str, faults: &mut Faults) -> bool {
    let (field, all) = (format!("{at}.hints.{name}"), list(&hints[name]));
    if all.len() > HINTS_MAX {
        faults.too_many(field, all.len(), HINTS_MAX);
        return false;
    }
    let mut seen = HashSet::new();
    for (i, one) in all.iter().enumerate() {
        let (field, name) = (format!("{field}[{i}].name"), string(one, "name"));
        if !seen.insert(name) {
            faults.duplicate(field.as_str(), name);
        }
        faults.complain(&field, name, rule(name));
    }
    true
}

fn slice_warn(new: &Value, old: &Value) -> Vec<String> {
    let mut out = Vec::new();
    if old.is_null() && new["addressType"] == "FQDN" {
        out.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
    let by = string(&new["metadata"]["labels"], MANAGED_BY);
    if CONTROLLERS.contains(&by) {
        return out;
    }
    for (i, endpoint) in list(&new["endpoints"]).iter().enumerate() {
        for (j, address) in texts(&endpoint["addresses"]).into_iter().enumerate() {
            out.extend(ip::warning(address, &format!("endpoints[{i}].addresses[{j}]")));
        }
    }
    out
}

fn slice_ports(slice: &Value) -> Value {
    let ports = list(&slice["ports"]).iter();
    let number = |port: &Value| {
        port["port"]
            .as_i64()
            .map_or_else(|| "*".to_owned(), |port| port.to_string())
    };
    let ports: Vec<String> = ports.map(number).collect();
    or(&first(&ports, SHOWN, ","), "<unset>")
}

fn slice_addresses(slice: &Value) -> Value {
    let endpoints = list(&slice["endpoints"]).iter();
    let addresses = endpoints.flat_map(|endpoint| texts(&endpoint["addresses"]));
    let addresses: Vec<String> = addresses.map(str::to_owned).collect();
    or(&first(&addresses, SHOWN, ","), "<unset>")
}
