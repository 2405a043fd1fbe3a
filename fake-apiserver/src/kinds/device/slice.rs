//! The rules for slices: the devices that a driver tells of, and which nodes reach them.
//!
//! Owns how many there may be of what. Does not know claims.

use super::lists::set;
use super::names::pool as pool_name;
use super::reach::{braced, flag, nodes};
use super::single::{self, counters_of};
use crate::kinds::internal_form;
use crate::kinds::volume::driver_name;
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use serde_json::Value;

const DEVICES_MAX: usize = 128;
/// Devices with taints or counters.
const ELABORATE_DEVICES_MAX: usize = 64;
const COUNTER_SETS_MAX: usize = 8;

/// The rules for a new slice.
pub(super) fn validate(slice: &Value, faults: &mut Faults) {
    spec(&slice["spec"], &Value::Null, faults);
}

/// The rules for a changed slice: it stays with its driver, its pool and its node.
pub(super) fn validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    spec(&new["spec"], &old["spec"], faults);
}

/// Warnings about a slice.
pub(super) fn warn(slice: &Value) -> Vec<String> {
    let driver = string(&slice["spec"], "driver");
    let is_mixed = driver != driver.to_lowercase();
    let text =
        || format!("spec.driver: driver names should be lowercase; {driver:?} contains uppercase characters");
    is_mixed.then(text).into_iter().collect()
}

fn spec(spec: &Value, old: &Value, faults: &mut Faults) {
    driver_name(string(spec, "driver"), "spec.driver", faults);
    pool(&spec["pool"], faults);
    if !old.is_null() {
        faults.unchanged("spec.pool.name", &spec["pool"]["name"], &old["pool"]["name"]);
        faults.unchanged("spec.driver", &spec["driver"], &old["driver"]);
        faults.unchanged("spec.nodeName", &spec["nodeName"], &old["nodeName"]);
    }
    let mut chosen = nodes(
        spec,
        "spec",
        "must be either unset or set to a non-empty string",
        faults,
    );
    let selector = &spec["nodeSelector"];
    let terms = &selector["nodeSelectorTerms"];
    if !selector.is_null() && list(terms).len() != 1 {
        let shown = internal_form::shown("[]NodeSelectorTerm", terms);
        let text = "must have exactly one node selector term";
        faults.invalid_as("spec.nodeSelector.nodeSelectorTerms", &shown, text);
    }
    chosen.extend(flag(spec, "allNodes", "spec", faults));
    chosen.extend(flag(spec, "perDeviceNodeSelection", "spec", faults));
    let text = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match chosen.len() {
        0 => faults.required("spec", text),
        1 => {}
        _ => {
            let text = format!("{text}, but multiple fields are set");
            faults.invalid("spec", braced(&chosen), &text);
        }
    }
    let (devices, counters) = (&spec["devices"], &spec["sharedCounters"]);
    if !devices.is_null() && !counters.is_null() {
        let text = "only one of `sharedCounters` or `devices` is allowed";
        faults.invalid("spec", "", text);
    }
    let is_elaborate = |device: &Value| {
        ["taints", "consumesCounters"]
            .iter()
            .any(|name| !list(&device[*name]).is_empty())
    };
    let most = match list(devices).iter().any(is_elaborate) {
        true => ELABORATE_DEVICES_MAX,
        false => DEVICES_MAX,
    };
    let is_per_device = spec["perDeviceNodeSelection"] == true;
    let name = |one| string(one, "name");
    set(devices, most, name, "spec.devices", faults, |one, at, faults| {
        single::validate(one, is_per_device, at, faults);
    });
    let field = "spec.sharedCounters";
    set(
        counters,
        COUNTER_SETS_MAX,
        name,
        field,
        faults,
        |one, at, faults| {
            counters_of(one, "name", at, faults);
        },
    );
}

fn pool(pool: &Value, faults: &mut Faults) {
    pool_name(string(pool, "name"), "spec.pool.name", faults);
    let number = |name: &str| pool[name].as_i64().unwrap_or_default();
    let count = number("resourceSliceCount");
    if count <= 0 {
        faults.invalid("spec.pool.resourceSliceCount", count, "must be greater than zero");
    }
    let generation = number("generation");
    if generation < 0 {
        let text = "must be greater than or equal to zero";
        faults.invalid("spec.pool.generation", generation, text);
    }
}
