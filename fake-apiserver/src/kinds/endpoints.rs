//! Endpoints: defaults, rules and what is shown, and the rules for addresses that endpoint slices share.

use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, Row};
use crate::kinds::columns::Cell::Of;
use crate::kinds::columns::{AGE, NAME, first, or, text};
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::machinery::{ip, names};
use serde_json::Value;

pub(super) static ENDPOINTS: Row = Row {
    kind: "Endpoints",
    metadata_checks: MetadataChecks::core(2),
    plural: "endpoints",
    registry: Some("services/endpoints"),
    singular: "endpoints",
    short_names: &["ep"],
    create_on_update: true,
    hooks: Hooks {
        default: |endpoints| {
            for subset in json::entries(endpoints, "/subsets") {
                for port in json::entries(subset, "/ports") {
                    json::default_member(port, "protocol", "TCP");
                }
            }
        },
        validate_create: |new, faults| subsets(new, faults),
        validate_update: |new, old, faults| {
            // What is there stays, whatever it is.
            if new["subsets"] != old["subsets"] {
                subsets(new, faults);
            }
        },
        warn: |new, _| warn(new),
        ..NO_HOOKS
    },
    deprecation: Some((33, "discovery.k8s.io/v1 EndpointSlice")),
    columns: &[NAME, text("Endpoints", Of(endpoints)), AGE],
    ..PLAIN
};

/// Lists of addresses in a subset.
const ADDRESSES: [&str; 2] = ["addresses", "notReadyAddresses"];
/// Whoever has this label writes addresses in their canonical form, and is not looked at.
const MANAGED_BY: (&str, &str) = ("endpoints.kubernetes.io/managed-by", "endpoint-controller");

fn subsets(endpoints: &Value, faults: &mut Faults) {
    for (i, subset) in list(&endpoints["subsets"]).iter().enumerate() {
        let at = format!("subsets[{i}]");
        if ADDRESSES.iter().all(|name| list(&subset[*name]).is_empty()) {
            faults.required(at.as_str(), "must specify `addresses` or `notReadyAddresses`");
        }
        for name in ADDRESSES {
            for (j, address) in list(&subset[name]).iter().enumerate() {
                subset_address(address, &format!("{at}.{name}[{j}]"), faults);
            }
        }
        let ports = list(&subset["ports"]);
        for (j, port) in ports.iter().enumerate() {
            subset_port(port, ports.len() > 1, &format!("{at}.ports[{j}]"), faults);
        }
    }
}

fn subset_address(address: &Value, at: &str, faults: &mut Faults) {
    let (field, text) = (format!("{at}.ip"), string(address, "ip"));
    faults.complain(&field, text, ip::any_form(text));
    let host = string(address, "hostname");
    if !host.is_empty() {
        faults.complain(&format!("{at}.hostname"), host, names::label(host));
    }
    if let Some(node) = address["nodeName"].as_str() {
        faults.complain(&format!("{at}.nodeName"), node, names::subdomain(node));
    }
    reachable(text, &field, faults);
}

/// The rules for an address at which somebody can be reached.
///
/// The real server refuses the loopback addresses, too. Here everything runs on one machine: it is by these addresses that
/// webhooks are found behind their services, and that the server itself is.
pub(super) fn reachable(text: &str, field: &str, faults: &mut Faults) {
    let Some(address) = ip::parse(text) else {
        return faults.invalid(field, text, "must be a valid IP address");
    };
    if address.is_unspecified() {
        faults.invalid(field, text, &format!("may not be unspecified ({text})"));
    }
    let address = address.to_canonical();
    if ip::is_link_local(address) {
        let why = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
        faults.invalid(field, text, why);
    }
    if ip::is_link_local_group(address) {
        let why = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
        faults.invalid(field, text, why);
    }
}

/// The number of the port of that name; a service with one port need not name it.
pub(crate) fn port_named<'a>(ports: &'a Value, name: &str) -> Option<&'a Value> {
    let mut ports = list(ports).iter();
    let found = ports.find(|port| string(port, "name") == name)?;
    Some(&found["port"])
}

/// Host and port of the first endpoint that is ready at the port of that name.
pub(crate) fn first_ready(endpoints: &Value, port: &str) -> Option<String> {
    let mut subsets = list(&endpoints["subsets"]).iter();
    subsets.find_map(|subset| {
        let address = string(list(&subset["addresses"]).first()?, "ip");
        Some(ip::with_port(address, port_named(&subset["ports"], port)?))
    })
}

fn subset_port(port: &Value, is_named: bool, at: &str, faults: &mut Faults) {
    let (field, name) = (format!("{at}.name"), string(port, "name"));
    if name.is_empty() && is_named {
        faults.required(field, "");
    } else if !name.is_empty() {
        faults.complain(&field, name, names::label(name));
    }
    let number = port["port"].as_i64().unwrap_or_default();
    faults.port(&format!("{at}.port"), number);
    protocol(port, at, faults);
}

/// The rules for the protocols of a port.
pub(super) fn protocol(port: &Value, at: &str, faults: &mut Faults) {
    let (field, protocol) = (format!("{at}.protocol"), string(port, "protocol"));
    faults.one_of(&field, protocol, &names::PROTOCOLS);
    if let Some(protocol) = port["appProtocol"].as_str() {
        let field = format!("{at}.appProtocol");
        faults.complain(&field, protocol, names::qualified(protocol));
    }
}

fn warn(endpoints: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let (label, controller) = MANAGED_BY;
    if endpoints["metadata"]["labels"][label] == controller {
        return out;
    }
    for (i, subset) in list(&endpoints["subsets"]).iter().enumerate() {
        for name in ADDRESSES {
            for (j, address) in list(&subset[name]).iter().enumerate() {
                let field = format!("subsets[{i}].{name}[{j}].ip");
                out.extend(ip::warning(string(address, "ip"), &field));
            }
        }
    }
    out
}

/// How many addresses a cell shows.
const ADDRESSES_SHOWN: usize = 3;

fn endpoints(endpoints: &Value) -> Value {
    let all: Vec<String> = list(&endpoints["subsets"]).iter().flat_map(addresses).collect();
    or(&first(&all, ADDRESSES_SHOWN, ","), "<none>")
}

/// Every address of a subset with every port.
fn addresses(subset: &Value) -> Vec<String> {
    let ports = list(&subset["ports"]);
    let addresses = list(&subset["addresses"]).iter();
    let addresses = addresses.filter_map(|address| address["ip"].as_str());
    let with_ports = |ip: &str| match ports {
        [] => vec![ip.to_owned()],
        ports => ports
            .iter()
            .map(|port| format!("{ip}:{}", port["port"]))
            .collect(),
    };
    addresses.flat_map(with_ports).collect()
}
