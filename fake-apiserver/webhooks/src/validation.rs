//! Validation of webhook configurations.

use crate::expression_validation::{admission_variables, validate_match_conditions};
use crate::rule_validation::{FAILURE_POLICIES, MATCH_POLICIES, validate_rule};
use fake_apiserver::extension::json::{list, string, texts};
use fake_apiserver::extension::webhook::ClientConfig;
use fake_apiserver::extension::{ErrorList, label_selector, names};
use serde_json::Value;
use std::collections::HashSet;

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];

/// Validates webhook configurations. `old` is null on create. On update, match conditions are validated only if one of them changed.
pub(crate) fn validate(new: &Value, old: &Value, mutating: bool, errors: &mut ErrorList) {
    let have_changed = old.is_null() || !conditions_of(new).eq(conditions_of(old));
    let mut known = HashSet::new();
    for (i, hook) in list(&new["webhooks"]).iter().enumerate() {
        let at = format!("webhooks[{i}]");
        webhook(hook, mutating, &at, errors);
        if have_changed {
            let at = format!("{at}.matchConditions");
            validate_match_conditions(&hook["matchConditions"], &admission_variables(), &at, errors);
        }
        review_versions(hook, &format!("{at}.admissionReviewVersions"), errors);
        let name = string(hook, "name");
        if !name.is_empty() && !known.insert(name) {
            errors.duplicate(format!("{at}.name"), name);
        }
    }
}

fn conditions_of(configuration: &Value) -> impl Iterator<Item = &Value> {
    let hooks = list(&configuration["webhooks"]).iter();
    hooks.map(|hook| &hook["matchConditions"])
}

fn webhook(hook: &Value, mutating: bool, at: &str, errors: &mut ErrorList) {
    fully_qualified_name(string(hook, "name"), &format!("{at}.name"), errors);
    for (i, rule) in list(&hook["rules"]).iter().enumerate() {
        validate_rule(rule, &format!("{at}.rules[{i}]"), errors);
    }
    for (name, known) in [
        ("failurePolicy", FAILURE_POLICIES),
        ("matchPolicy", MATCH_POLICIES),
    ] {
        if let Some(value) = hook[name].as_str() {
            errors.one_of(&format!("{at}.{name}"), value, &known);
        }
    }
    match hook["sideEffects"].as_str() {
        None => {
            let why = format!("must specify one of {}", SIDE_EFFECTS.join(", "));
            errors.required(format!("{at}.sideEffects"), &why);
        }
        Some(value) => errors.one_of(&format!("{at}.sideEffects"), value, &SIDE_EFFECTS),
    }
    if let Some(seconds) = hook["timeoutSeconds"]
        .as_i64()
        .filter(|seconds| !(1..=30).contains(seconds))
    {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(format!("{at}.timeoutSeconds"), seconds, why);
    }
    for name in ["namespaceSelector", "objectSelector"] {
        label_selector(&hook[name], &format!("{at}.{name}"), errors);
    }
    if let Some(value) = hook["reinvocationPolicy"].as_str().filter(|_| mutating) {
        errors.one_of(&format!("{at}.reinvocationPolicy"), value, &REINVOCATION_POLICIES);
    }
    ClientConfig::validate(&hook["clientConfig"], &format!("{at}.clientConfig"), errors);
}

/// Adds an error unless the webhook name is a DNS subdomain with at least three labels.
fn fully_qualified_name(name: &str, at: &str, errors: &mut ErrorList) {
    let errors_of_name = names::subdomain(name);
    if name.is_empty() {
        errors.required(at, "");
    } else if !errors_of_name.is_empty() {
        errors.invalid(at, name, &errors_of_name.join(","));
    } else if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        errors.invalid(at, name, why);
    }
}

fn review_versions(hook: &Value, at: &str, errors: &mut ErrorList) {
    let versions = texts(&hook["admissionReviewVersions"]);
    if versions.is_empty() {
        let why = format!("must specify one of {}", REVIEW_VERSIONS.join(", "));
        return errors.required(at, &why);
    }
    let mut known = HashSet::new();
    for (i, version) in versions.iter().enumerate() {
        let field = format!("{at}[{i}]");
        if known.insert(version) {
            errors.invalid_all(&field, version, names::dns_label_1035(version));
        } else {
            errors.invalid(field, *version, "duplicate version");
        }
    }
    if !versions.iter().any(|version| REVIEW_VERSIONS.contains(version)) {
        let why = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        errors.invalid(at, hook["admissionReviewVersions"].clone(), &why);
    }
}
