//! EndpointSlice: defaults and columns.

use super::{Generation, Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, Setting};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Of, Text};
use crate::kinds::columns::{AGE, NAME, first, or, text};
use crate::machinery::json::{self, list, texts};
use crate::machinery::metadata;
use serde_json::Value;

pub(super) static ENDPOINT_SLICE: ResourceDefinition = ResourceDefinition {
    kind: "EndpointSlice",
    metadata_checks: MetadataChecks::core(1).alone(),
    plural: "endpointslices",
    singular: "endpointslice",
    group: "discovery.k8s.io",
    generation_of: &["/endpoints", "/ports"],
    generation: Generation::FromCreation,
    hooks: Hooks {
        default: slice_default,
        update: slice_update,
        validate_update: |new, old, errors| errors.members_unchanged(new, old, &["addressType"]),
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

/// The number of list entries that a cell contains; the rest is only counted.
pub(super) const SHOWN: usize = 3;

fn slice_default(slice: &mut Value) {
    for port in json::entries(slice, "/ports") {
        json::default_member(port, "name", "");
        json::default_member(port, "protocol", "TCP");
    }
}

/// A change of labels also increments the generation, because consumers select EndpointSlices by label.
fn slice_update(new: &mut Value, old: &Value, _: &Setting<'_>) {
    let has_labels = |slice: &Value| json::pairs(&slice["metadata"]["labels"]).next().is_some();
    let labels = |slice: &Value| slice["metadata"]["labels"].clone();
    if labels(new) != labels(old) && (has_labels(new) || has_labels(old)) {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
        metadata::set(new, "generation", Some((generation + 1).into()));
    }
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
