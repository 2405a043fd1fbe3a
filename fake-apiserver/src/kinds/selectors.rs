//! The rules for selectors inside objects: of labels (`ValidateLabelSelector`) and of nodes (`ValidateNodeSelector`).
//!
//! Owns which operator takes how many values. Does not know how selectors select.

use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::machinery::{metadata, names};
use serde_json::Value;

const NONE_GIVEN: &str = "must be specified when `operator` is 'In' or 'NotIn'";
const SOME_GIVEN: &str = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
const UNKNOWN: &str = "not a valid selector operator";

/// Where a selector of nodes stands: values of preferences, and of what was there before, need not be label values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Labels,
    Any,
}

/// The rules for a label selector.
pub(super) fn labels(selector: &Value, field: &str, faults: &mut Faults) {
    metadata::labels(&selector["matchLabels"], &format!("{field}.matchLabels"), faults);
    for (i, term) in list(&selector["matchExpressions"]).iter().enumerate() {
        let (at, operator) = (format!("{field}.matchExpressions[{i}]"), string(term, "operator"));
        if !is_operator(operator) {
            faults.invalid(format!("{at}.operator"), operator, UNKNOWN);
        }
        requirement(term, &at, faults);
    }
}

/// Whether an operator is one of selectors of labels.
pub(crate) fn is_operator(operator: &str) -> bool {
    matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist")
}

/// The rules for a requirement about labels, whatever its operator.
pub(crate) fn requirement(term: &Value, at: &str, faults: &mut Faults) {
    count(term, at, faults);
    key_and_values(term, at, Values::Labels, faults);
}

/// The rules for a selector of nodes.
pub(super) fn nodes(selector: &Value, field: &str, values: Values, faults: &mut Faults) {
    let field = format!("{field}.nodeSelectorTerms");
    let terms = list(&selector["nodeSelectorTerms"]);
    if terms.is_empty() {
        faults.required(field, "must have at least one node selector term");
        return;
    }
    for (i, term) in terms.iter().enumerate() {
        node_term(term, &format!("{field}[{i}]"), values, faults);
    }
}

/// The rules for one of the terms, of which one has to hold.
pub(super) fn node_term(term: &Value, field: &str, values: Values, faults: &mut Faults) {
    for (i, requirement) in list(&term["matchExpressions"]).iter().enumerate() {
        let at = format!("{field}.matchExpressions[{i}]");
        match string(requirement, "operator") {
            "Gt" | "Lt" if list(&requirement["values"]).len() != 1 => {
                let text = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                faults.required(format!("{at}.values"), text);
            }
            "Gt" | "Lt" => {}
            "In" | "NotIn" | "Exists" | "DoesNotExist" => count(requirement, &at, faults),
            operator => faults.invalid(format!("{at}.operator"), operator, UNKNOWN),
        }
        key_and_values(requirement, &at, values, faults);
    }
    for (i, requirement) in list(&term["matchFields"]).iter().enumerate() {
        node_field(requirement, &format!("{field}.matchFields[{i}]"), faults);
    }
}

/// Field requirements of nodes select by name only.
fn node_field(requirement: &Value, at: &str, faults: &mut Faults) {
    let values = json::texts(&requirement["values"]);
    match string(requirement, "operator") {
        "In" | "NotIn" if values.len() != 1 => {
            let text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            faults.required(format!("{at}.values"), text);
        }
        "In" | "NotIn" => {}
        operator => faults.invalid(format!("{at}.operator"), operator, UNKNOWN),
    }
    match string(requirement, "key") {
        "metadata.name" => {
            for (i, value) in values.into_iter().enumerate() {
                faults.complain(&format!("{at}.values[{i}]"), value, names::subdomain(value));
            }
        }
        key => faults.invalid(format!("{at}.key"), key, "not a valid field selector key"),
    }
}

/// How many values an operator takes: some, or none. Others than those of labels are not judged.
pub(crate) fn count(term: &Value, at: &str, faults: &mut Faults) {
    match (string(term, "operator"), list(&term["values"]).is_empty()) {
        ("In" | "NotIn", true) => faults.required(format!("{at}.values"), NONE_GIVEN),
        ("Exists" | "DoesNotExist", false) => faults.forbidden(format!("{at}.values"), SOME_GIVEN),
        _ => {}
    }
}

fn key_and_values(term: &Value, at: &str, values: Values, faults: &mut Faults) {
    let key = string(term, "key");
    faults.complain(&format!("{at}.key"), key, names::qualified(key));
    if values == Values::Any {
        return;
    }
    for (i, value) in json::texts(&term["values"]).into_iter().enumerate() {
        faults.complain(&format!("{at}.values[{i}]"), value, names::label_value(value));
    }
}
