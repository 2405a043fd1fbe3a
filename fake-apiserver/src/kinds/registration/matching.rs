//! The rules for what a webhook or policy is about: operations, resources and selectors.

use super::super::selectors;
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string, texts};
use crate::machinery::names;
use serde_json::Value;
use std::collections::HashSet;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
pub(super) const FAILURES: [&str; 2] = ["Fail", "Ignore"];
pub(super) const MATCHES: [&str; 2] = ["Equivalent", "Exact"];

/// The rules for `matchConstraints` of policies and `matchResources` of bindings.
pub(super) fn constraints(of: &Value, at: &str, faults: &mut Faults) {
    choice(of, "matchPolicy", at, &MATCHES, faults);
    for name in ["namespaceSelector", "objectSelector"] {
        if of[name].is_null() {
            faults.required(format!("{at}.{name}"), "");
        } else {
            selectors::labels(&of[name], &format!("{at}.{name}"), faults);
        }
    }
    for name in ["resourceRules", "excludeResourceRules"] {
        for (i, rule) in list(&of[name]).iter().enumerate() {
            let at = format!("{at}.{name}[{i}]");
            resource_names(rule, &at, faults);
            operations(rule, &at, faults);
        }
    }
}

/// A text that has to be one of some.
pub(super) fn choice(of: &Value, name: &str, at: &str, known: &[&str], faults: &mut Faults) {
    let field = format!("{at}.{name}");
    match of[name].as_str() {
        None => faults.required(field, ""),
        Some(chosen) => faults.one_of(&field, chosen, known),
    }
}

fn resource_names(rule: &Value, at: &str, faults: &mut Faults) {
    let mut known = HashSet::new();
    for (i, name) in texts(&rule["resourceNames"]).into_iter().enumerate() {
        let field = format!("{at}.resourceNames[{i}]");
        faults.complain(&field, name, names::path_segment(name));
        if !known.insert(name) {
            faults.duplicate(field, name);
        }
    }
}

/// The rules for a rule with operations.
pub(super) fn operations(rule: &Value, at: &str, faults: &mut Faults) {
    let field = format!("{at}.operations");
    let asked = texts(&rule["operations"]);
    if asked.is_empty() {
        faults.required(field.as_str(), "");
    }
    if asked.len() > 1 && asked.contains(&"*") {
        let why = "if '*' is present, must not specify other operations";
        faults.invalid(field.as_str(), rule["operations"].clone(), why);
    }
    for (i, operation) in asked.iter().enumerate() {
        faults.one_of(&format!("{field}[{i}]"), operation, &OPERATIONS);
    }
    resources_of(rule, at, faults);
}

fn resources_of(rule: &Value, at: &str, faults: &mut Faults) {
    for (name, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let (field, given) = (format!("{at}.{name}"), texts(&rule[name]));
        if given.is_empty() {
            faults.required(field.as_str(), "");
        }
        if given.len() > 1 && given.contains(&"*") {
            let why = format!("if '*' is present, must not specify other {what}");
            faults.invalid(field.as_str(), rule[name].clone(), &why);
        }
        if name == "apiVersions" {
            for (i, _) in given.iter().enumerate().filter(|(_, version)| version.is_empty()) {
                faults.required(format!("{field}[{i}]"), "");
            }
        }
    }
    resources(&rule["resources"], &format!("{at}.resources"), faults);
    if let Some(scope) = rule["scope"].as_str() {
        faults.one_of(&format!("{at}.scope"), scope, &SCOPES);
    }
}

fn resources(of: &Value, at: &str, faults: &mut Faults) {
    let all = texts(of);
    if all.is_empty() {
        faults.required(at, "");
    }
    let (mut any_part, mut any_resource, mut is_plain) = (HashSet::new(), HashSet::new(), false);
    for (i, name) in all.iter().enumerate() {
        let field = format!("{at}[{i}]");
        if name.is_empty() {
            faults.required(field, "");
            continue;
        }
        let Some((resource, part)) = name.split_once('/') else {
            is_plain = *name != "*";
            continue;
        };
        if any_part.contains(resource) {
            let why = format!("if '{resource}/*' is present, must not specify {name}");
            faults.invalid(field.as_str(), *name, &why);
        }
        if any_resource.contains(part) {
            let why = format!("if '*/{part}' is present, must not specify {name}");
            faults.invalid(field, *name, &why);
        }
        if part == "*" {
            any_part.insert(resource);
        }
        if resource == "*" {
            any_resource.insert(part);
        }
    }
    if all.len() > 1 && all.contains(&"*/*") {
        let why = "if '*/*' is present, must not specify other resources";
        faults.invalid(at, of.clone(), why);
    }
    if all.contains(&"*") && is_plain {
        let why = "if '*' is present, must not specify other resources without subresources";
        faults.invalid(at, of.clone(), why);
    }
}

/// The rules for the kind of parameters.
pub(super) fn param_kind(of: &Value, at: &str, faults: &mut Faults) {
    let (version, kind) = (string(of, "apiVersion"), string(of, "kind"));
    let field = format!("{at}.apiVersion");
    match version.split('/').collect::<Vec<_>>().as_slice() {
        [""] => faults.required(field, ""),
        [_, _, _, ..] => {
            let why = format!("unexpected GroupVersion string: {version}");
            faults.invalid(field, version, &why);
        }
        parts => {
            let (short, group) = parts.split_last().map_or(("", ""), |(last, rest)| {
                (*last, rest.first().copied().unwrap_or_default())
            });
            let group_faults = if group.is_empty() {
                Vec::new()
            } else {
                names::subdomain(group)
            };
            if !group_faults.is_empty() {
                faults.invalid(field.as_str(), group, &group_faults.join(","));
            }
            let why = names::label_1035(short).join(",");
            if short.is_empty() {
                faults.invalid(field, version, "version must be specified");
            } else if !why.is_empty() {
                faults.invalid(field, short, &why);
            }
        }
    }
    let why = names::label_1035(&kind.to_lowercase()).join(",");
    if kind.is_empty() {
        faults.required(format!("{at}.kind"), "");
    } else if !why.is_empty() {
        let why = format!("may have mixed case, but should otherwise match: {why}");
        faults.invalid(format!("{at}.kind"), kind, &why);
    }
}
