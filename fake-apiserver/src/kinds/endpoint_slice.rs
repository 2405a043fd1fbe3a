//! EndpointSlice: defaults and columns.

use super::{Generation, Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StrategyContext};
use crate::config::release::ServedReleases;
use crate::kinds::columns::Cell::{Of, Text};
use crate::kinds::columns::{AGE, NAME, join_first, text, text_or_default};
use crate::machinery::json::{self, list, texts};
use crate::machinery::metadata;
use serde_json::Value;

pub(super) static ENDPOINT_SLICE: ResourceDefinition = ResourceDefinition {
    kind: "EndpointSlice",
    metadata_checks: MetadataChecks::core_v1_checks(1).without_comparison(),
    plural: "endpointslices",
    group: "discovery.k8s.io",
    generation_of: &["/endpoints", "/ports"],
    generation: Generation::FromCreation,
    hooks: Hooks {
        default: slice_default,
        update: slice_update,
        validate_update: |new, old, errors| errors.require_members_unchanged(new, old, &["addressType"]),
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text("AddressType", Text("/addressType")),
        text("Ports", Of(slice_ports)),
        text("Endpoints", Of(slice_addresses)),
        AGE,
    ],
    life: ServedReleases::since(21),
    ..PLAIN
};

/// Maximum number of list entries that a `kubectl get` cell shows, followed by the number of omitted entries.
pub(super) const SHOWN: usize = 3;

fn slice_default(slice: &mut Value) {
    for port in json::entries(slice, "/ports") {
        json::default_member(port, "name", "");
        json::default_member(port, "protocol", "TCP");
    }
}

/// A change of labels increments `metadata.generation`, because consumers select EndpointSlices by label.
fn slice_update(new: &mut Value, old: &Value, _: &StrategyContext<'_>) {
    let has_labels = |slice: &Value| {
        json::string_members(&slice["metadata"]["labels"])
            .next()
            .is_some()
    };
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
    text_or_default(&join_first(&ports, SHOWN, ","), "<unset>")
}

fn slice_addresses(slice: &Value) -> Value {
    let endpoints = list(&slice["endpoints"]).iter();
    let addresses = endpoints.flat_map(|endpoint| texts(&endpoint["addresses"]));
    let addresses: Vec<String> = addresses.map(str::to_owned).collect();
    text_or_default(&join_first(&addresses, SHOWN, ","), "<unset>")
}
