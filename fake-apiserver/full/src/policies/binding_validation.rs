//! Validation of admission policy bindings.

use super::constraints;
use fake_apiserver::extension::json::{string, texts};
use fake_apiserver::extension::{ErrorList, label_selector, names};
use serde_json::Value;
use std::collections::HashSet;

const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
const MISSING: [&str; 2] = ["Deny", "Allow"];
const EXCLUSIVE: &str = "name and selector are mutually exclusive";

pub(super) fn validate_validating_binding(binding: &Value, errors: &mut ErrorList) {
    validate_mutating_binding(binding, errors);
    validate_actions(
        &binding["spec"]["validationActions"],
        "spec.validationActions",
        errors,
    );
}

pub(super) fn validate_mutating_binding(binding: &Value, errors: &mut ErrorList) {
    let spec = &binding["spec"];
    errors.require_valid("spec.policyName", string(spec, "policyName"), names::subdomain);
    if spec["paramRef"].is_object() {
        validate_param_ref(&spec["paramRef"], "spec.paramRef", errors);
    }
    if spec["matchResources"].is_object() {
        constraints::validate(&spec["matchResources"], "spec.matchResources", errors);
    }
}

fn validate_param_ref(of: &Value, at: &str, errors: &mut ErrorList) {
    let (name, has_selector) = (string(of, "name"), of["selector"].is_object());
    if !name.is_empty() {
        errors.invalid_all(&format!("{at}.name"), name, names::path_segment(name));
        if has_selector {
            errors.forbidden(format!("{at}.name"), EXCLUSIVE);
        }
    }
    if has_selector {
        label_selector(&of["selector"], &format!("{at}.selector"), errors);
        if !name.is_empty() {
            errors.forbidden(format!("{at}.selector"), EXCLUSIVE);
        }
    }
    if name.is_empty() && !has_selector {
        errors.required(at, "one of name or selector must be specified");
    }
    // An empty `parameterNotFoundAction` counts as unset.
    let field = format!("{at}.parameterNotFoundAction");
    match string(of, "parameterNotFoundAction") {
        "" => errors.required(field, ""),
        chosen => errors.one_of(&field, chosen, &MISSING),
    }
}

fn validate_actions(of: &Value, at: &str, errors: &mut ErrorList) {
    let (all, mut known) = (texts(of), HashSet::new());
    for (i, action) in all.iter().enumerate() {
        let field = format!("{at}[{i}]");
        errors.one_of(&field, action, &ACTIONS);
        if !known.insert(*action) {
            errors.duplicate(field, *action);
        }
    }
    if known.contains("Deny") && known.contains("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                   response and headers serves no purpose)";
        errors.invalid(at, of.clone(), why);
    }
    if all.is_empty() {
        errors.required(at, "at least one validation action is required");
    }
}
