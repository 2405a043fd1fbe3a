//! The rules for quotas: what there can be quotas of, and which scopes go with it.

use super::internal_form;
use super::resource_names;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string, texts};
use crate::machinery::quantity::Quantity;
use serde_json::Value;
use std::collections::BTreeSet;

/// Whether there can be a quota of a resource.
type Fits = fn(&str) -> bool;

/// Scopes, and of what there can be a quota in them.
const SCOPES: [(&str, Fits); 7] = [
    ("Terminating", resource_names::is_of_pods),
    ("NotTerminating", resource_names::is_of_pods),
    ("BestEffort", |resource| resource == "pods"),
    ("NotBestEffort", resource_names::is_of_pods),
    ("PriorityClass", resource_names::is_of_pods),
    ("CrossNamespacePodAffinity", resource_names::is_of_pods),
    ("VolumeAttributesClass", |resource| {
        ["persistentvolumeclaims", "requests.storage"].contains(&resource)
    }),
];
/// Scopes that either are there or are not: they have no values.
const PLAIN_SCOPES: [&str; 5] = [
    "BestEffort",
    "NotBestEffort",
    "Terminating",
    "NotTerminating",
    "CrossNamespacePodAffinity",
];
/// Scopes of which nothing is in both.
const OPPOSITES: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

const MISFIT: &str = "unsupported scope applied to resource";
const CONFLICT: &str = "conflicting scopes";

/// The rules for a new quota and a changed one.
pub(super) fn validate(quota: &Value, faults: &mut Faults) {
    let spec = &quota["spec"];
    amounts(&spec["hard"], "spec.hard", faults);
    scopes(spec, faults);
    selector(spec, faults);
}

/// A quota stays about the same objects.
pub(super) fn validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    let scopes = |quota: &Value| -> BTreeSet<String> {
        let scopes = texts(&quota["spec"]["scopes"]).into_iter();
        scopes.map(str::to_owned).collect()
    };
    if scopes(new) != scopes(old) {
        let now = new["spec"]["scopes"].clone();
        faults.invalid("spec.scopes", now, "field is immutable");
    }
}

/// The rules for what is used.
pub(super) fn validate_status(new: &Value, _: &Value, faults: &mut Faults) {
    for name in ["hard", "used"] {
        amounts(&new["status"][name], &format!("status.{name}"), faults);
    }
}

fn amounts(amounts: &Value, at: &str, faults: &mut Faults) {
    for (name, amount) in json::pairs(amounts) {
        let field = format!("{at}[{name}]");
        resource_names::of_quota(name, &field, faults);
        let Ok(quantity) = amount.parse::<Quantity>() else {
            continue;
        };
        if quantity.is_negative() {
            faults.invalid(field.as_str(), amount, "must be greater than or equal to 0");
        }
        if resource_names::is_whole(name) && quantity.milli() % 1000 != 0 {
            faults.invalid(field, amount, "must be an integer");
        }
    }
}

/// How many of the resources that a quota bounds cannot be bounded in a scope.
fn misfits(spec: &Value, scope: &str) -> usize {
    let fits = SCOPES.iter().find(|(known, _)| *known == scope);
    let Some((_, fits)) = fits else { return 0 };
    let bounded = json::pairs(&spec["hard"]).map(|(name, _)| name);
    let known = bounded.filter(|name| resource_names::is_counted_by_quotas(name));
    known.filter(|name| !fits(name)).count()
}

fn is_scope(name: &str) -> bool {
    SCOPES.iter().any(|(known, _)| *known == name)
}

/// How many pairs of scopes leave nothing.
fn conflicts(scopes: &[&str]) -> usize {
    let both = |pair: &&[&str; 2]| pair.iter().all(|scope| scopes.contains(scope));
    OPPOSITES.iter().filter(both).count()
}

fn scopes(spec: &Value, faults: &mut Faults) {
    let field = "spec.scopes";
    let scopes = texts(&spec["scopes"]);
    let mut complain = |why: &str| faults.invalid(field, spec["scopes"].clone(), why);
    for scope in &scopes {
        if !is_scope(scope) {
            complain("unsupported scope");
        }
        (0..misfits(spec, scope)).for_each(|_| complain(MISFIT));
    }
    (0..conflicts(&scopes)).for_each(|_| complain(CONFLICT));
}

fn selector(spec: &Value, faults: &mut Faults) {
    let at = "spec.scopeSelector.matchExpressions";
    let requirements = list(&spec["scopeSelector"]["matchExpressions"]);
    for requirement in requirements {
        let scope = string(requirement, "scopeName");
        if !is_scope(scope) {
            faults.invalid(format!("{at}.scopeName"), scope, "unsupported scope");
        }
        for _ in 0..misfits(spec, scope) {
            faults.invalid_as(
                at,
                &internal_form::shown("ScopeSelector", &spec["scopeSelector"]),
                MISFIT,
            );
        }
        operator(requirement, scope, at, faults);
    }
    let scopes: Vec<&str> = requirements
        .iter()
        .map(|requirement| string(requirement, "scopeName"))
        .collect();
    for _ in 0..conflicts(&scopes) {
        // It is the other list that is shown.
        faults.invalid(at, spec["scopes"].clone(), CONFLICT);
    }
}

fn operator(requirement: &Value, scope: &str, at: &str, faults: &mut Faults) {
    let operator = string(requirement, "operator");
    let field = format!("{at}.operator");
    if PLAIN_SCOPES.contains(&scope) && operator != "Exists" {
        let text = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
            ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
            ResourceQuotaScopeCrossNamespacePodAffinity";
        faults.invalid(field.as_str(), operator, text);
    }
    let has_values = !list(&requirement["values"]).is_empty();
    match operator {
        "In" | "NotIn" if !has_values => {
            let text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            faults.required(format!("{at}.values"), text);
        }
        "Exists" | "DoesNotExist" if has_values => {
            let text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            faults.invalid(format!("{at}.values"), requirement["values"].clone(), text);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        operator => faults.invalid(field, operator, "not a valid selector operator"),
    }
}

/// Requests and limits of a resource that are at odds; requests may be named without saying so.
const BOUNDED: [(&str, &[&str]); 4] = [
    ("limits.cpu", &["requests.cpu", "cpu"]),
    ("limits.memory", &["requests.memory", "memory"]),
    ("limits.storage", &["requests.storage"]),
    ("limits.ephemeral-storage", &["requests.ephemeral-storage"]),
];

/// Warns of a new quota that allows more requests than limits.
pub(super) fn warn(new: &Value, old: &Value) -> Vec<String> {
    let hard = &new["spec"]["hard"];
    if !old.is_null() {
        return Vec::new();
    }
    let amount = |name: &str| hard[name].as_str()?.parse::<Quantity>().ok();
    let at_odds = BOUNDED.iter().filter_map(|(limit, requests)| {
        let found = requests.iter().find_map(|name| Some((name, amount(name)?)));
        let ((name, request), allowed) = (found?, amount(limit)?);
        (request > allowed)
            .then(|| format!("ResourceQuota {name} ({request}) should be less than {limit} ({allowed})"))
    });
    at_odds.collect()
}
