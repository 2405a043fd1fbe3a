//! Validation of admission policy bindings.

use super::constraints;
use fake_apiserver::extension::json::{string, texts};
use fake_apiserver::extension::{ErrorList, label_selector, names};
use serde_json::Value;
use std::collections::HashSet;

const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
const MISSING: [&str; 2] = ["Deny", "Allow"];
const EXCLUSIVE: &str = "name and selector are mutually exclusive";

/// Validates a ValidatingAdmissionPolicyBinding.
pub(super) fn validating(binding: &Value, faults: &mut ErrorList) {
    mutating(binding, faults);
    actions(
        &binding["spec"]["validationActions"],
        "spec.validationActions",
        faults,
    );
}

/// Validates a MutatingAdmissionPolicyBinding.
pub(super) fn mutating(binding: &Value, faults: &mut ErrorList) {
    let spec = &binding["spec"];
    faults.require_valid("spec.policyName", string(spec, "policyName"), names::subdomain);
    if spec["paramRef"].is_object() {
        parameters(&spec["paramRef"], "spec.paramRef", faults);
    }
    if spec["matchResources"].is_object() {
        constraints::validate(&spec["matchResources"], "spec.matchResources", faults);
    }
}

fn parameters(of: &Value, at: &str, faults: &mut ErrorList) {
    let (name, has_selector) = (string(of, "name"), of["selector"].is_object());
    if !name.is_empty() {
        faults.invalid_all(&format!("{at}.name"), name, names::path_segment(name));
        if has_selector {
            faults.forbidden(format!("{at}.name"), EXCLUSIVE);
        }
    }
    if has_selector {
        label_selector(&of["selector"], &format!("{at}.selector"), faults);
        if !name.is_empty() {
            faults.forbidden(format!("{at}.selector"), EXCLUSIVE);
        }
    }
    if name.is_empty() && !has_selector {
        faults.required(at, "one of name or selector must be specified");
    }
    // An empty value counts as unset.
    let field = format!("{at}.parameterNotFoundAction");
    match string(of, "parameterNotFoundAction") {
        "" => faults.required(field, ""),
        chosen => faults.one_of(&field, chosen, &MISSING),
    }
}

fn actions(of: &Value, at: &str, faults: &mut ErrorList) {
    let (all, mut known) = (texts(of), HashSet::new());
    for (i, action) in all.iter().enumerate() {
        let field = format!("{at}[{i}]");
        faults.one_of(&field, action, &ACTIONS);
        if !known.insert(*action) {
            faults.duplicate(field, *action);
        }
    }
    if known.contains("Deny") && known.contains("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                   response and headers serves no purpose)";
        faults.invalid(at, of.clone(), why);
    }
    if all.is_empty() {
        faults.required(at, "at least one validation action is required");
    }
}
