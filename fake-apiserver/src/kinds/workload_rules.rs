//! Validation of workload selectors. A selector must match the labels of the pod template, and is immutable.
//!
//! Does not validate the pod template.

use super::selectors;
use crate::machinery::error_list::ErrorList;
use crate::machinery::json;
use crate::machinery::selector::LabelSelector;
use serde_json::{Value, json};

const SELECTOR: &str = "spec.selector";

/// Validates a required label selector: it must match the labels of the pod template. `kind` is the kind of the workload.
pub(super) fn validate(workload: &Value, kind: &str, errors: &mut ErrorList) {
    let selector = &workload["spec"]["selector"];
    if selector.is_null() {
        return errors.required(SELECTOR, "");
    }
    let mut found = ErrorList::default();
    selectors::labels(selector, SELECTOR, &mut found);
    let is_empty = json::string_members(&selector["matchLabels"]).next().is_none()
        && json::list(&selector["matchExpressions"]).is_empty();
    if is_empty {
        found.invalid(
            SELECTOR,
            json!({}),
            &format!("empty selector is invalid for {kind}"),
        );
    } else if found.is_empty() {
        require_selector_match(selector, workload, &mut found);
    }
    errors.append(found);
}

/// Validates the selector of a ReplicationController, which is a map of labels.
pub(super) fn validate_labels(controller: &Value, errors: &mut ErrorList) {
    let selector = &controller["spec"]["selector"];
    if json::string_members(selector).next().is_none() {
        return errors.required(SELECTOR, "");
    }
    require_selector_match(&json!({"matchLabels": selector}), controller, errors);
}

fn require_selector_match(selector: &Value, workload: &Value, errors: &mut ErrorList) {
    let template = &workload["spec"]["template"];
    let selector = LabelSelector::from_object(selector);
    if selector.is_some_and(|selector| !selector.matches(template)) {
        let labels = template["metadata"]["labels"].clone();
        let detail = "`selector` does not match template `labels`";
        errors.invalid("spec.template.metadata.labels", labels, detail);
    }
}

/// Validates that the selector does not change.
pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    errors.require_unchanged(SELECTOR, &new["spec"]["selector"], &old["spec"]["selector"]);
}
