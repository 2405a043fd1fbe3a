//! EndpointSlice: stored and shown.

use super::{Generation, PLAIN, Row};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Of, Text};
use crate::kinds::columns::{AGE, NAME, first, or, text};
use crate::machinery::json;
use serde_json::Value;

pub(super) static ENDPOINT_SLICE: Row = Row {
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

/// How many entries of a list a cell shows.
pub(super) const SHOWN: usize = 3;

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
