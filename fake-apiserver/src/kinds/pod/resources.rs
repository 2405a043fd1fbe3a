//! The rules for what a container asks of a node (`ValidateContainerResourceRequirements` of core/v1).

use crate::kinds::resource_names;
use crate::machinery::faults::Faults;
use crate::machinery::json;
use crate::machinery::quantity::Quantity;
use serde_json::Value;

/// The rules for `resources`.
pub(in crate::kinds) fn validate(resources: &Value, at: &str, faults: &mut Faults) {
    let limits = &resources["limits"];
    for (name, amount) in json::pairs(limits) {
        let field = format!("{at}.limits[{name}]");
        resource_names::of_container(name, &field, faults);
        quantity(name, amount, &field, faults);
    }
    for (name, amount) in json::pairs(&resources["requests"]) {
        let field = format!("{at}.requests[{name}]");
        resource_names::of_container(name, &field, faults);
        quantity(name, amount, &field, faults);
        within(name, amount, limits[name].as_str(), at, faults);
    }
    let claims = resources["claims"].as_array().into_iter().flatten();
    for (i, claim) in claims.enumerate() {
        let name = claim["name"].as_str().unwrap_or_default();
        let field = format!("{at}.claims[{i}]");
        if name.is_empty() {
            faults.required(field.as_str(), "");
        }
    }
}

/// A request is within its limit, and equal to it where nodes cannot promise more than they have.
fn within(name: &str, amount: &str, limit: Option<&str>, at: &str, faults: &mut Faults) {
    let field = format!("{at}.requests");
    let parse = |text: &str| text.parse::<Quantity>().ok();
    let Some(limit) = limit else {
        if !resource_names::is_overcommitted(name) {
            let text = "Limit must be set for non overcommitable resources";
            faults.required(format!("{at}.limits"), text);
        }
        return;
    };
    let (asked, allowed) = (parse(amount), parse(limit));
    if asked != allowed && !resource_names::is_overcommitted(name) {
        faults.invalid(
            field,
            amount,
            &format!("must be equal to {name} limit of {limit}"),
        );
    } else if asked > allowed {
        let text = format!("must be less than or equal to {name} limit of {limit}");
        faults.invalid(field, amount, &text);
    }
}

/// The rules for an amount of a resource; only some come in parts.
pub(in crate::kinds) fn quantity(name: &str, amount: &str, field: &str, faults: &mut Faults) {
    if amount.starts_with('-') {
        faults.invalid(field, amount, "must be greater than or equal to 0");
    }
    if name.contains('/') && !name.contains("kubernetes.io/") && amount.ends_with(['m', 'u', 'n']) {
        faults.invalid(field, amount, "must be an integer");
    }
}
