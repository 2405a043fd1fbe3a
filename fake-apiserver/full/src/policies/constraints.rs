//! Validation of the fields that select what a policy or binding matches: operations, resources, selectors and parameters.

use fake_apiserver::extension::json::{list, string, texts};
use fake_apiserver::extension::{ErrorList, label_selector, names};
use fake_apiserver_webhooks::{MATCH_POLICIES, validate_rule};
use serde_json::Value;
use std::collections::HashSet;

/// Validates `matchConstraints` of policies and `matchResources` of bindings.
pub(super) fn validate(of: &Value, at: &str, errors: &mut ErrorList) {
    validate_enum(of, "matchPolicy", at, &MATCH_POLICIES, errors);
    for name in ["namespaceSelector", "objectSelector"] {
        if of[name].is_null() {
            errors.required(format!("{at}.{name}"), "");
        } else {
            label_selector(&of[name], &format!("{at}.{name}"), errors);
        }
    }
    for name in ["resourceRules", "excludeResourceRules"] {
        for (i, rule) in list(&of[name]).iter().enumerate() {
            let at = format!("{at}.{name}[{i}]");
            validate_resource_names(rule, &at, errors);
            validate_rule(rule, &at, errors);
        }
    }
}

/// Adds an error unless the field `name` of `of` is set to one of `known`.
pub(super) fn validate_enum(of: &Value, name: &str, at: &str, known: &[&str], errors: &mut ErrorList) {
    let field = format!("{at}.{name}");
    match of[name].as_str() {
        None => errors.required(field, ""),
        Some(chosen) => errors.one_of(&field, chosen, known),
    }
}

fn validate_resource_names(rule: &Value, at: &str, errors: &mut ErrorList) {
    let mut known = HashSet::new();
    for (i, name) in texts(&rule["resourceNames"]).into_iter().enumerate() {
        let field = format!("{at}.resourceNames[{i}]");
        errors.invalid_all(&field, name, names::path_segment(name));
        if !known.insert(name) {
            errors.duplicate(field, name);
        }
    }
}

pub(super) fn validate_param_kind(of: &Value, at: &str, errors: &mut ErrorList) {
    for name in ["apiVersion", "kind"] {
        if string(of, name).is_empty() {
            errors.required(format!("{at}.{name}"), "");
        }
    }
}
