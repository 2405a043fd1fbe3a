//! Validation of webhook configurations.

use super::super::selectors;
use super::clients;
use super::conditions::{conditions, variables};
use super::matching::{self, FAILURES, MATCHES};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string, texts};
use crate::machinery::names;
use serde_json::Value;
use std::collections::HashSet;

/// The AdmissionReview versions that the server sends.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];
const SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const REINVOCATIONS: [&str; 2] = ["IfNeeded", "Never"];

/// Validates mutating or validating webhooks; `old` is null on create. Match conditions are not validated again if
/// none changed.
pub(in crate::kinds) fn validate(new: &Value, old: &Value, mutating: bool, faults: &mut ErrorList) {
    let have_changed = old.is_null() || !conditions_of(new).eq(conditions_of(old));
    let mut known = HashSet::new();
    for (i, hook) in list(&new["webhooks"]).iter().enumerate() {
        let at = format!("webhooks[{i}]");
        one(hook, mutating, &at, faults);
        if have_changed {
            let at = format!("{at}.matchConditions");
            conditions(&hook["matchConditions"], &variables(), &at, faults);
        }
        reviews(hook, &format!("{at}.admissionReviewVersions"), faults);
        let name = string(hook, "name");
        if !name.is_empty() && !known.insert(name) {
            faults.duplicate(format!("{at}.name"), name);
        }
    }
}

fn conditions_of(configuration: &Value) -> impl Iterator<Item = &Value> {
    let hooks = list(&configuration["webhooks"]).iter();
    hooks.map(|hook| &hook["matchConditions"])
}

fn one(hook: &Value, mutating: bool, at: &str, faults: &mut ErrorList) {
    qualified(string(hook, "name"), &format!("{at}.name"), faults);
    for (i, rule) in list(&hook["rules"]).iter().enumerate() {
        matching::operations(rule, &format!("{at}.rules[{i}]"), faults);
    }
    for (name, known) in [("failurePolicy", FAILURES), ("matchPolicy", MATCHES)] {
        if let Some(chosen) = hook[name].as_str() {
            faults.one_of(&format!("{at}.{name}"), chosen, &known);
        }
    }
    match hook["sideEffects"].as_str() {
        None => {
            let why = format!("must specify one of {}", SIDE_EFFECTS.join(", "));
            faults.required(format!("{at}.sideEffects"), &why);
        }
        Some(chosen) => faults.one_of(&format!("{at}.sideEffects"), chosen, &SIDE_EFFECTS),
    }
    if let Some(seconds) = hook["timeoutSeconds"]
        .as_i64()
        .filter(|seconds| !(1..=30).contains(seconds))
    {
        let why = "the timeout value must be between 1 and 30 seconds";
        faults.invalid(format!("{at}.timeoutSeconds"), seconds, why);
    }
    for name in ["namespaceSelector", "objectSelector"] {
        selectors::labels(&hook[name], &format!("{at}.{name}"), faults);
    }
    if let Some(chosen) = hook["reinvocationPolicy"].as_str().filter(|_| mutating) {
        faults.one_of(&format!("{at}.reinvocationPolicy"), chosen, &REINVOCATIONS);
    }
    clients::client(&hook["clientConfig"], &format!("{at}.clientConfig"), faults);
}

/// Validates a qualified domain name.
fn qualified(name: &str, at: &str, faults: &mut ErrorList) {
    let complaints = names::subdomain(name);
    if name.is_empty() {
        faults.required(at, "");
    } else if !complaints.is_empty() {
        faults.invalid(at, name, &complaints.join(","));
    } else if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        faults.invalid(at, name, why);
    }
}

fn reviews(hook: &Value, at: &str, faults: &mut ErrorList) {
    let versions = texts(&hook["admissionReviewVersions"]);
    if versions.is_empty() {
        let why = format!("must specify one of {}", REVIEWS.join(", "));
        return faults.required(at, &why);
    }
    let mut known = HashSet::new();
    for (i, version) in versions.iter().enumerate() {
        let field = format!("{at}[{i}]");
        if known.insert(version) {
            faults.invalid_all(&field, version, names::label_1035(version));
        } else {
            faults.invalid(field, *version, "duplicate version");
        }
    }
    if !versions.iter().any(|version| REVIEWS.contains(version)) {
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        faults.invalid(at, hook["admissionReviewVersions"].clone(), &why);
    }
}
