//! Validation of the requests that a webhook or policy matches: operations, resources and selectors.

use super::super::selectors;
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string, texts};
use crate::machinery::names;
use serde_json::Value;
use std::collections::HashSet;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
pub(super) const FAILURES: [&str; 2] = ["Fail", "Ignore"];
pub(super) const MATCHES: [&str; 2] = ["Equivalent", "Exact"];

/// Validates `matchConstraints` of policies and `matchResources` of bindings.
pub(super) fn constraints(of: &Value, at: &str, faults: &mut ErrorList) {
    choice(of, "matchPolicy", at, &MATCHES, faults);
    for name in ["namespaceSelector", "objectSelector"] {
        if of[name].is_null() {
            faults.required(format!("{at}.{name}"), "");
        } else {
            selectors::labels(&of[name], &format!("{at}.{name}"), faults);
        }
    }
    for name in ["resourceRules", "excludeResourceRules"] {
        for (i, rule) in list(&of[name]).iter().enumerate() {
            let at = format!("{at}.{name}[{i}]");
            resource_names(rule, &at, faults);
            operations(rule, &at, faults);
        }
    }
}

/// Validates an enum field.
pub(super) fn choice(of: &Value, name: &str, at: &str, known: &[&str], faults: &mut ErrorList) {
    let field = format!("{at}.{name}");
    match of[name].as_str() {
        None => faults.required(field, ""),
        Some(chosen) => faults.one_of(&field, chosen, known),
    }
}

fn resource_names(rule: &Value, at: &str, faults: &mut ErrorList) {
    let mut known = HashSet::new();
    for (i, name) in texts(&rule["resourceNames"]).into_iter().enumerate() {
        let field = format!("{at}.resourceNames[{i}]");
        faults.invalid_all(&field, name, names::path_segment(name));
        if !known.insert(name) {
            faults.duplicate(field, name);
        }
    }
}

/// Validates a rule with operations.
pub(super) fn operations(rule: &Value, at: &str, faults: &mut ErrorList) {
    let field = format!("{at}.operations");
    let asked = texts(&rule["operations"]);
    if asked.is_empty() {
        faults.required(field.as_str(), "");
    }
    if asked.len() > 1 && asked.contains(&"*") {
        let why = "if '*' is present, must not specify other operations";
        faults.invalid(field.as_str(), rule["operations"].clone(), why);
    }
    for (i, operation) in asked.iter().enumerate() {
        faults.one_of(&format!("{field}[{i}]"), operation, &OPERATIONS);
    }
    resources_of(rule, at, faults);
}

fn resources_of(rule: &Value, at: &str, faults: &mut ErrorList) {
    for name in ["apiGroups", "apiVersions", "resources"] {
        let (field, given) = (format!("{at}.{name}"), texts(&rule[name]));
        if given.is_empty() {
            faults.required(field.as_str(), "");
        }
    }
    if let Some(scope) = rule["scope"].as_str() {
        faults.one_of(&format!("{at}.scope"), scope, &SCOPES);
    }
}

/// Validates `paramKind`.
pub(super) fn param_kind(of: &Value, at: &str, faults: &mut ErrorList) {
    for name in ["apiVersion", "kind"] {
        if string(of, name).is_empty() {
            faults.required(format!("{at}.{name}"), "");
        }
    }
}
