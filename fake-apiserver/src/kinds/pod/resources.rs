//! Validation of container requests and limits (`validateResourceRequirements` of core/v1).
//!
//! Does not validate pod-level resources, sizes of huge pages and device claims.

use crate::kinds::resource_names;
use crate::machinery::error_list::ErrorList;
use crate::machinery::json;
use crate::machinery::quantity::Quantity;
use serde_json::Value;

/// Validates `resources` of a container.
pub(super) fn of_container(container: &Value, at: &str, errors: &mut ErrorList) {
    validate_requirements(&container["resources"], at, errors);
}

/// Validates the pod overhead of a pod or RuntimeClass.
pub fn overhead(overhead: &Value, at: &str, errors: &mut ErrorList) {
    let limits = serde_json::json!({"limits": overhead});
    validate_requirements(&limits, at, errors);
}

fn parse_quantity(text: &str) -> Option<Quantity> {
    text.parse().ok()
}

fn validate_requirements(resources: &Value, at: &str, errors: &mut ErrorList) {
    let limits = &resources["limits"];
    for (name, amount) in json::string_members(limits) {
        let field = format!("{at}.limits[{name}]");
        resource_names::of_container(name, &field, errors);
        quantity(name, amount, &field, errors);
    }
    for (name, amount) in json::string_members(&resources["requests"]) {
        let field = format!("{at}.requests[{name}]");
        resource_names::of_container(name, &field, errors);
        quantity(name, amount, &field, errors);
        validate_request(name, amount, limits[name].as_str(), at, errors);
    }
}

/// Validates a request: it must not exceed the limit, and must equal the limit for resources that cannot be overcommitted.
fn validate_request(name: &str, amount: &str, limit: Option<&str>, at: &str, errors: &mut ErrorList) {
    let field = format!("{at}.requests");
    let Some(limit) = limit else {
        if !resource_names::is_overcommitted(name) {
            let text = "Limit must be set for non overcommitable resources";
            errors.required(format!("{at}.limits"), text);
        }
        return;
    };
    let (requested, allowed) = (parse_quantity(amount), parse_quantity(limit));
    if requested != allowed && !resource_names::is_overcommitted(name) {
        errors.invalid(
            field,
            amount,
            &format!("must be equal to {name} limit of {limit}"),
        );
    } else if requested > allowed {
        let text = format!("must be less than or equal to {name} limit of {limit}");
        errors.invalid(field, amount, &text);
    }
}

/// Validates a quantity. Only some resources may have fractional quantities.
pub(in crate::kinds) fn quantity(name: &str, amount: &str, field: &str, errors: &mut ErrorList) {
    if amount.starts_with('-') {
        errors.invalid(field, amount, "must be greater than or equal to 0");
    }
    if name.contains('/') && !name.contains("kubernetes.io/") && amount.ends_with(['m', 'u', 'n']) {
        errors.invalid(field, amount, "must be an integer");
    }
}
