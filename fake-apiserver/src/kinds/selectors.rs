//! Validation of label selectors (`ValidateLabelSelector`) and node selectors (`ValidateNodeSelector`) in objects.
//!
//! Owns the number of values that each operator requires. Does not know how selectors match.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{self, list, string};
use crate::machinery::{metadata, names};
use serde_json::Value;

const NONE_GIVEN: &str = "must be specified when `operator` is 'In' or 'NotIn'";
const SOME_GIVEN: &str = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
const UNKNOWN: &str = "not a valid selector operator";

/// Whether the values in a node selector must be valid label values. `Any` is used for preferred terms, and if the old object has invalid
/// values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelValueCheck {
    Labels,
    Any,
}

/// Validates a label selector; adds errors below the path `field`.
pub fn labels(selector: &Value, field: &str, errors: &mut ErrorList) {
    metadata::validate_labels(&selector["matchLabels"], &format!("{field}.matchLabels"), errors);
    for (i, term) in list(&selector["matchExpressions"]).iter().enumerate() {
        let (at, operator) = (format!("{field}.matchExpressions[{i}]"), string(term, "operator"));
        if !is_operator(operator) {
            errors.invalid(format!("{at}.operator"), operator, UNKNOWN);
        }
        requirement(term, &at, errors);
    }
}

pub(crate) fn is_operator(operator: &str) -> bool {
    matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist")
}

/// Validates the key and values of a label requirement, and accepts any operator.
pub(crate) fn requirement(term: &Value, at: &str, errors: &mut ErrorList) {
    validate_value_count(term, at, errors);
    key_and_values(term, at, LabelValueCheck::Labels, errors);
}

pub(super) fn nodes(selector: &Value, field: &str, values: LabelValueCheck, errors: &mut ErrorList) {
    let field = format!("{field}.nodeSelectorTerms");
    let terms = list(&selector["nodeSelectorTerms"]);
    if terms.is_empty() {
        errors.required(field, "must have at least one node selector term");
        return;
    }
    for (i, term) in terms.iter().enumerate() {
        node_term(term, &format!("{field}[{i}]"), values, errors);
    }
}

pub(super) fn node_term(term: &Value, field: &str, values: LabelValueCheck, errors: &mut ErrorList) {
    for (i, requirement) in list(&term["matchExpressions"]).iter().enumerate() {
        let at = format!("{field}.matchExpressions[{i}]");
        match string(requirement, "operator") {
            "Gt" | "Lt" if list(&requirement["values"]).len() != 1 => {
                let text = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.required(format!("{at}.values"), text);
            }
            "Gt" | "Lt" => {}
            "In" | "NotIn" | "Exists" | "DoesNotExist" => validate_value_count(requirement, &at, errors),
            operator => errors.invalid(format!("{at}.operator"), operator, UNKNOWN),
        }
        key_and_values(requirement, &at, values, errors);
    }
    for (i, requirement) in list(&term["matchFields"]).iter().enumerate() {
        node_field(requirement, &format!("{field}.matchFields[{i}]"), errors);
    }
}

/// Validates a requirement in `matchFields` of a node selector, which supports `metadata.name` only.
fn node_field(requirement: &Value, at: &str, errors: &mut ErrorList) {
    let values = json::texts(&requirement["values"]);
    match string(requirement, "operator") {
        "In" | "NotIn" if values.len() != 1 => {
            let text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.required(format!("{at}.values"), text);
        }
        "In" | "NotIn" => {}
        operator => errors.invalid(format!("{at}.operator"), operator, UNKNOWN),
    }
    match string(requirement, "key") {
        "metadata.name" => {
            for (i, value) in values.into_iter().enumerate() {
                errors.invalid_all(&format!("{at}.values[{i}]"), value, names::subdomain(value));
            }
        }
        key => errors.invalid(format!("{at}.key"), key, "not a valid field selector key"),
    }
}

/// Validates the number of values: at least one or none, depending on the operator. Unknown operators are not validated here.
pub(crate) fn validate_value_count(term: &Value, at: &str, errors: &mut ErrorList) {
    match (string(term, "operator"), list(&term["values"]).is_empty()) {
        ("In" | "NotIn", true) => errors.required(format!("{at}.values"), NONE_GIVEN),
        ("Exists" | "DoesNotExist", false) => errors.forbidden(format!("{at}.values"), SOME_GIVEN),
        _ => {}
    }
}

fn key_and_values(term: &Value, at: &str, values: LabelValueCheck, errors: &mut ErrorList) {
    let key = string(term, "key");
    errors.invalid_all(&format!("{at}.key"), key, names::qualified_name(key));
    if values == LabelValueCheck::Any {
        return;
    }
    for (i, value) in json::texts(&term["values"]).into_iter().enumerate() {
        errors.invalid_all(&format!("{at}.values[{i}]"), value, names::label_value(value));
    }
}
