//! Endpoints: stored and shown.

use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, Row};
use crate::kinds::columns::Cell::Of;
use crate::kinds::columns::{AGE, NAME, first, or, text};
use crate::machinery::json;
use serde_json::Value;

pub(super) static ENDPOINTS: Row = Row {
    kind: "Endpoints",
    metadata_checks: MetadataChecks::Core(2),
    plural: "endpoints",
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
        ..NO_HOOKS
    },
    deprecation: Some((33, "discovery.k8s.io/v1 EndpointSlice")),
    columns: &[NAME, text("Endpoints", Of(endpoints)), AGE],
    ..PLAIN
};

/// How many addresses a cell shows.
const ADDRESSES_SHOWN: usize = 3;

fn endpoints(endpoints: &Value) -> Value {
    let all: Vec<String> = json::list(&endpoints["subsets"])
        .iter()
        .flat_map(addresses)
        .collect();
    or(&first(&all, ADDRESSES_SHOWN, ","), "<none>")
}

/// Every address of a subset with every port.
fn addresses(subset: &Value) -> Vec<String> {
    let ports = json::list(&subset["ports"]);
    let addresses = json::list(&subset["addresses"]).iter();
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
