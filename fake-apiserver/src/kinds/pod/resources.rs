//! The rules for what a container asks of a node (`ValidateContainerResourceRequirements` of core/v1).

use crate::machinery::faults::Faults;
use crate::machinery::quantity::Quantity;
use crate::machinery::{json, names};
use serde_json::Value;

/// Resources without a domain, and whether containers can ask for them.
const STANDARD: [(&str, bool); 12] = [
    ("cpu", true),
    ("memory", true),
    ("ephemeral-storage", true),
    ("requests.cpu", false),
    ("requests.memory", false),
    ("requests.ephemeral-storage", false),
    ("limits.cpu", false),
    ("limits.memory", false),
    ("limits.ephemeral-storage", false),
    ("pods", false),
    ("storage", false),
    ("requests.storage", false),
];

/// The rules for `resources`.
pub(super) fn validate(resources: &Value, at: &str, faults: &mut Faults) {
    let limits = &resources["limits"];
    for (name, amount) in json::pairs(limits) {
        let field = format!("{at}.limits[{name}]");
        resource(name, &field, faults);
        quantity(name, amount, &field, faults);
    }
    for (name, amount) in json::pairs(&resources["requests"]) {
        let field = format!("{at}.requests[{name}]");
        resource(name, &field, faults);
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
        if !is_overcommitted(name) {
            let text = "Limit must be set for non overcommitable resources";
            faults.required(format!("{at}.limits"), text);
        }
        return;
    };
    let (asked, allowed) = (parse(amount), parse(limit));
    if asked != allowed && !is_overcommitted(name) {
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

/// A resource of Kubernetes itself, of which more may be promised than there is; huge pages excepted.
fn is_overcommitted(name: &str) -> bool {
    (!name.contains('/') || name.contains("kubernetes.io/")) && !name.starts_with("hugepages-")
}

fn resource(name: &str, field: &str, faults: &mut Faults) {
    let complaints = names::qualified(name);
    let is_well_formed = complaints.is_empty();
    faults.complain(field, name, complaints);
    let huge = name.starts_with("hugepages-");
    let standard = STANDARD.iter().find(|(known, _)| *known == name);
    if name.contains('/') {
        let native = name.contains("kubernetes.io/");
        if !native && name.starts_with("requests.") {
            faults.invalid(field, name, "doesn't follow extended resource name standard");
        }
        return;
    }
    if is_well_formed && standard.is_none() && !huge {
        faults.invalid(field, name, "must be a standard resource type or fully qualified");
    }
    if !huge && !standard.is_some_and(|(_, asked)| *asked) {
        faults.invalid(field, name, "must be a standard resource for containers");
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
