//! The rules for one device of a slice: what it is, what it has, and who may use it.

use super::claim::taint;
use super::lists::{each, set};
use super::names::qualified;
use super::policy;
use super::reach::{braced, flag, nodes};
use crate::kinds::internal_form;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, string};
use crate::machinery::names;
use regex::Regex;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::LazyLock;

const COUNTERS_MAX: usize = 32;
const CONSUMPTIONS_MAX: usize = 2;
const ATTRIBUTES_AND_CAPACITIES_MAX: usize = 32;
const TEXT_BYTES_MAX: usize = 64;
const TAINTS_MAX: usize = 16;
const CONDITIONS_MAX: usize = 4;
/// A version of three numbers, with what may follow them (semver.org, 2.0.0); of any length, unlike those of the crate `semver`.
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    let number = "(0|[1-9][0-9]*)";
    let before = "(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)";
    let build = "[0-9A-Za-z-]+";
    let core = format!(r"{number}\.{number}\.{number}");
    let text = format!(r"^{core}(-{before}(\.{before})*)?(\+{build}(\.{build})*)?$");
    Regex::new(&text).expect("it is a pattern")
});
/// What the value of an attribute may be.
const VALUES: [&str; 8] = [
    "bool", "int", "string", "version", "bools", "ints", "strings", "versions",
];

pub(super) fn validate(device: &Value, is_per_device: bool, at: &str, faults: &mut Faults) {
    let name = string(device, "name");
    faults.complain(&format!("{at}.name"), name, names::label(name));
    let (attributes, capacities) = (&device["attributes"], &device["capacity"]);
    let count = members(attributes).count() + members(capacities).count();
    if count > ATTRIBUTES_AND_CAPACITIES_MAX {
        let text = format!(
            "the total number of attributes and capacities must not exceed {ATTRIBUTES_AND_CAPACITIES_MAX}"
        );
        faults.invalid(at, count, &text);
    }
    let field = format!("{at}.attributes");
    for (name, value) in members(attributes) {
        qualified(name, &field, faults);
        attribute(value, &format!("{field}[{name}]"), faults);
    }
    let field = format!("{at}.capacity");
    let is_shared = device["allowMultipleAllocations"] == true;
    for (name, capacity) in members(capacities) {
        qualified(name, &field, faults);
        let at = format!("{field}[{name}].requestPolicy");
        match &capacity["requestPolicy"] {
            Value::Null => {}
            _ if !is_shared => faults.forbidden(at, "allowMultipleAllocations must be true"),
            policy => policy::validate(policy, string(capacity, "value"), &at, faults),
        }
    }
    each(
        &device["taints"],
        TAINTS_MAX,
        &format!("{at}.taints"),
        faults,
        taint,
    );
    let (field, set_of) = (format!("{at}.consumesCounters"), |one| string(one, "counterSet"));
    let consumed = &device["consumesCounters"];
    set(
        consumed,
        CONSUMPTIONS_MAX,
        set_of,
        &field,
        faults,
        |one, at, faults| {
            counters_of(one, "counterSet", at, faults);
        },
    );
    nodes_of(device, is_per_device, at, faults);
    binding(device, at, faults);
}

/// Devices say which nodes reach them where the slice leaves that to them, and nowhere else.
fn nodes_of(device: &Value, is_per_device: bool, at: &str, faults: &mut Faults) {
    if !is_per_device {
        let own = ["nodeName", "nodeSelector", "allNodes"];
        if own.iter().any(|name| !device[*name].is_null()) {
            let text = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the \
                ResourceSlice spec";
            faults.invalid(at, Value::Null, text);
        }
        return;
    }
    let mut chosen = nodes(device, at, "must not be empty", faults);
    chosen.extend(flag(device, "allNodes", at, faults));
    let text = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the \
        ResourceSlice spec";
    match chosen.len() {
        0 => faults.required(at, text),
        1 => {}
        _ => faults.invalid(at, braced(&chosen), text),
    }
}

fn attribute(attribute: &Value, at: &str, faults: &mut Faults) {
    if string(attribute, "string").len() > TEXT_BYTES_MAX {
        faults.too_long(format!("{at}.string"), TEXT_BYTES_MAX);
    }
    if let Some(version) = attribute["version"].as_str() {
        let field = format!("{at}.version");
        if !VERSION.is_match(version) {
            faults.invalid(
                field.as_str(),
                version,
                "must be a string compatible with semver.org spec 2.0.0",
            );
        }
        if version.len() > TEXT_BYTES_MAX {
            faults.too_long(field, TEXT_BYTES_MAX);
        }
    }
    let text = "exactly one value must be specified";
    match VALUES.iter().filter(|name| !attribute[**name].is_null()).count() {
        0 => faults.invalid(at, "", text),
        1 => {}
        _ => faults.invalid_as(at, &internal_form::shown("DeviceAttribute", attribute), text),
    }
}

/// The rules for counters that a slice has, or that a device takes from.
pub(super) fn counters_of(of: &Value, name: &str, at: &str, faults: &mut Faults) {
    faults.needed(&format!("{at}.{name}"), string(of, name), names::label);
    let field = format!("{at}.counters");
    let counters = members(&of["counters"]).count();
    if counters == 0 {
        faults.required(field, "");
    } else if counters > COUNTERS_MAX {
        faults.too_many(field, counters, COUNTERS_MAX);
    } else {
        for (name, _) in members(&of["counters"]) {
            faults.complain(&field, name, names::label(name));
        }
    }
}

/// The rules for conditions that binding a pod waits for.
pub(super) fn binding(device: &Value, at: &str, faults: &mut Faults) {
    let lists = ["bindingConditions", "bindingFailureConditions"];
    for name in lists {
        let field = format!("{at}.{name}");
        each(
            &device[name],
            CONDITIONS_MAX,
            &field,
            faults,
            |one, at, faults| {
                let text = one.as_str().unwrap_or_default();
                faults.complain(at, text, names::qualified(text));
            },
        );
    }
    let [awaited, failing] = lists.map(|name| json::texts(&device[name]));
    let mut seen = HashSet::new();
    for (i, one) in awaited.iter().enumerate() {
        if !seen.insert(*one) {
            faults.duplicate(format!("{at}.bindingConditions[{i}]"), *one);
        }
    }
    let mut seen = HashSet::new();
    for (i, one) in failing.iter().enumerate() {
        let field = format!("{at}.bindingFailureConditions[{i}]");
        if !seen.insert(*one) {
            faults.duplicate(field.as_str(), *one);
        }
        if awaited.contains(one) {
            let text = "bindingFailureConditions must not overlap with bindingConditions";
            faults.invalid(field, *one, text);
        }
    }
    if awaited.is_empty() != failing.is_empty() {
        let (missing, given) = match awaited.is_empty() {
            true => (lists[0], lists[1]),
            false => (lists[1], lists[0]),
        };
        let text = format!("{missing} are required to use {given}");
        faults.invalid(format!("{at}.{missing}"), device[missing].clone(), &text);
    }
}

/// The members of a map; none where there is no map.
fn members(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flatten()
}
