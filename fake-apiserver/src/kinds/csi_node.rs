//! CSINode: the CSI drivers of a node, with their node IDs and topology keys.

use super::volume::driver_name;
use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition};
use crate::kinds::columns::{AGE, Cell, NAME, integer};
use crate::machinery::error_list::ErrorList;
use crate::machinery::{json, names};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

pub(super) static CSI_NODE: ResourceDefinition = ResourceDefinition {
    group: "storage.k8s.io",
    kind: "CSINode",
    metadata_checks: MetadataChecks::core_v1_checks(1).without_comparison(),
    plural: "csinodes",
    namespaced: false,
    unconditional_update: false,
    returns_deleted: true,
    hooks: Hooks {
        validate: node_validate,
        validate_update: node_validate_update,
        ..NO_HOOKS
    },
    columns: &[NAME, integer("Drivers", Cell::Count("/spec/drivers")), AGE],
    ..PLAIN
};

const NODE_ID_BYTES_MAX: usize = 256;

fn node_validate(object: &Value, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for (i, driver) in drivers(object).iter().enumerate() {
        let at = format!("spec.drivers[{i}]");
        let name = driver["name"].as_str().unwrap_or_default();
        driver_name(name, &format!("{at}.name"), errors);
        if driver["nodeID"].as_str().unwrap_or_default().is_empty() {
            errors.required(format!("{at}.nodeID"), "");
        } else if json::string(driver, "nodeID").len() > NODE_ID_BYTES_MAX {
            let why = format!("must be {NODE_ID_BYTES_MAX} characters or less");
            errors.invalid(format!("{at}.nodeID"), driver["nodeID"].clone(), &why);
        }
        if let Some(count) = driver["allocatable"]["count"].as_i64().filter(|count| *count < 0) {
            let field = format!("{at}.allocatable.count");
            errors.invalid(field, count, "must be greater than or equal to 0");
        }
        if !seen.insert(name) {
            errors.duplicate(format!("{at}.name"), name);
        }
        let mut keys = HashSet::new();
        for key in json::texts(&driver["topologyKeys"]) {
            if key.is_empty() {
                errors.required(at.as_str(), "");
            }
            if !keys.insert(key) {
                errors.duplicate(at.as_str(), key);
            }
            errors.invalid_all(&at, key, names::qualified_name(key));
        }
    }
}

/// CSI drivers may be added to and removed from a CSINode. The node ID and topology keys of a remaining driver are immutable.
fn node_validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    let frozen = |driver: &Value| json!([driver["nodeID"], driver["topologyKeys"]]);
    let before: HashMap<&Value, &Value> = drivers(old)
        .iter()
        .map(|driver| (&driver["name"], driver))
        .collect();
    for driver in drivers(new) {
        let before = before.get(&driver["name"]);
        if before.is_some_and(|before| frozen(before) != frozen(driver)) {
            // The error message contains the driver as a Go struct without `allocatable`, which may change.
            let shown = format!(
                "{{\"Name\":{},\"NodeID\":{},\"TopologyKeys\":{},\"Allocatable\":null}}",
                driver["name"], driver["nodeID"], driver["topologyKeys"]
            );
            errors.invalid_as("spec.drivers", &shown, "field is immutable");
        }
    }
}

fn drivers(object: &Value) -> &[Value] {
    json::list(&object["spec"]["drivers"])
}
