//! The rules for flow schemas, and for the conditions of schemas and levels.

use super::internal_form;
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string, texts};
use crate::machinery::{metadata, names};
use serde_json::{Value, json};
use std::collections::HashSet;

const PRECEDENCE_MAX: i64 = 10_000;
const METHODS: [&str; 2] = ["ByNamespace", "ByUser"];
const VERBS: [&str; 9] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];
/// Kinds of subjects, where each says who it is, and by which of the others a text is followed, in this order.
const SUBJECTS: [(&str, &str, [&str; 2]); 3] = [
    ("Group", "group", ["serviceAccount", "user"]),
    ("ServiceAccount", "serviceAccount", ["user", "group"]),
    ("User", "user", ["serviceAccount", "group"]),
];

pub(super) fn validate(schema: &Value, faults: &mut Faults) {
    let (name, spec) = (metadata::text(schema, "name"), &schema["spec"]);
    precedence(
        name,
        spec["matchingPrecedence"].as_i64().unwrap_or_default(),
        faults,
    );
    let method = &spec["distinguisherMethod"];
    if method.is_object() && !METHODS.contains(&string(method, "type")) {
        let shown = json!({"Type": string(method, "type")});
        faults.not_supported("spec.distinguisherMethod.type", shown, &METHODS);
    }
    let field = "spec.priorityLevelConfiguration.name";
    match string(&spec["priorityLevelConfiguration"], "name") {
        "" => faults.required(field, "must reference a priority level"),
        level => faults.complain(field, level, names::subdomain(level)),
    }
    for (i, rule) in list(&spec["rules"]).iter().enumerate() {
        rule_rules(rule, &format!("spec.rules[{i}]"), faults);
    }
    let differs = |(of, wanted): &(&str, Value)| *of == name && wanted != spec;
    if mandatory().iter().any(differs) {
        let text = format!("spec of '{name}' must equal the fixed value");
        faults.invalid_as("spec", &internal_form::shown("FlowSchemaSpec", spec), &text);
    }
}

/// The schemas that every server needs, and what they have to be.
pub(crate) fn mandatory() -> [(&'static str, Value); 2] {
    let rules = |groups: &[&str]| {
        let group = |name: &&str| json!({"kind": "Group", "group": {"name": name}});
        json!([{
            "subjects": groups.iter().map(group).collect::<Value>(),
            "resourceRules": [{
                "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"],
            }],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }])
    };
    let catch_all = json!({
        "priorityLevelConfiguration": {"name": "catch-all"}, "matchingPrecedence": PRECEDENCE_MAX,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": rules(&["system:unauthenticated", "system:authenticated"]),
    });
    let exempt = json!({
        "priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 1, "rules": rules(&["system:masters"]),
    });
    [("catch-all", catch_all), ("exempt", exempt)]
}

fn precedence(name: &str, precedence: i64, faults: &mut Faults) {
    let text = match precedence {
        ..=0 => "must be a positive value".to_owned(),
        1 if name != "exempt" => "only the schema named 'exempt' may have matchingPrecedence 1".to_owned(),
        1..=PRECEDENCE_MAX => return,
        _ => format!("must not be greater than {PRECEDENCE_MAX}"),
    };
    faults.invalid("spec.matchingPrecedence", precedence, &text);
}

fn rule_rules(rule: &Value, at: &str, faults: &mut Faults) {
    let subjects = list(&rule["subjects"]);
    if subjects.is_empty() {
        faults.required(
            format!("{at}.subjects"),
            "subjects must contain at least one value",
        );
    }
    for (i, one) in subjects.iter().enumerate() {
        subject(one, &format!("{at}.subjects[{i}]"), faults);
    }
    let (resources, paths) = (list(&rule["resourceRules"]), list(&rule["nonResourceRules"]));
    if resources.is_empty() && paths.is_empty() {
        let text = "at least one of resourceRules and nonResourceRules has to be non-empty";
        faults.required(at, text);
    }
    for (i, rule) in resources.iter().enumerate() {
        resource_rule(rule, &format!("{at}.resourceRules[{i}]"), faults);
    }
    for (i, rule) in paths.iter().enumerate() {
        path_rule(rule, &format!("{at}.nonResourceRules[{i}]"), faults);
    }
}

fn subject(subject: &Value, at: &str, faults: &mut Faults) {
    let kind = string(subject, "kind");
    let Some((_, member, others)) = SUBJECTS.iter().find(|(known, _, _)| *known == kind) else {
        let known = SUBJECTS.map(|(known, _, _)| known);
        return faults.not_supported(format!("{at}.kind"), kind, &known);
    };
    let (who, field) = (&subject[*member], format!("{at}.{member}"));
    if !who.is_object() {
        let text = format!("{member} is required when subject kind is '{kind}'");
        faults.required(field, &text);
    } else if kind == "ServiceAccount" {
        account(who, &field, faults);
    } else if string(who, "name").is_empty() {
        faults.required(format!("{field}.name"), "");
    }
    for other in others.iter().filter(|other| subject[**other].is_object()) {
        let needs = SUBJECTS.iter().find(|(_, member, _)| member == other);
        let needs = needs.map_or("", |(kind, _, _)| kind);
        let text = format!("{other} is forbidden when subject kind is not '{needs}'");
        faults.forbidden(format!("{at}.{other}"), &text);
    }
}

fn account(account: &Value, at: &str, faults: &mut Faults) {
    let field = format!("{at}.name");
    match string(account, "name") {
        "" => faults.required(field, ""),
        "*" => {}
        name => faults.complain(&field, name, names::subdomain(name)),
    }
    let field = format!("{at}.namespace");
    match string(account, "namespace") {
        "" => faults.required(field, "must specify namespace for service account"),
        name => faults.complain(&field, name, names::label(name)),
    }
}

/// Whether a list has a star; it may have nothing else then.
fn star(rule: &Value, name: &str, others: &str, at: &str, faults: &mut Faults) -> bool {
    let words = texts(&rule[name]);
    let has_star = words.contains(&"*");
    if has_star && words.len() > 1 {
        let text = format!("if '*' is present, must not specify other {others}");
        faults.invalid(format!("{at}.{name}"), rule[name].clone(), &text);
    }
    has_star
}

fn verbs(rule: &Value, at: &str, faults: &mut Faults) {
    let words = texts(&rule["verbs"]);
    let field = format!("{at}.verbs");
    if words.is_empty() {
        faults.required(field, "verbs must contain at least one value");
    } else if !star(rule, "verbs", "verbs", at, faults) && !words.iter().all(|verb| VERBS.contains(verb)) {
        faults.not_supported(field, rule["verbs"].clone(), &VERBS);
    }
}

fn resource_rule(rule: &Value, at: &str, faults: &mut Faults) {
    verbs(rule, at, faults);
    for (name, one, others) in [
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ] {
        if list(&rule[name]).is_empty() {
            let text = format!("resource rules must supply at least one {one}");
            faults.required(format!("{at}.{name}"), &text);
        }
        star(rule, name, others, at, faults);
    }
    let namespaces = texts(&rule["namespaces"]);
    let field = format!("{at}.namespaces");
    if namespaces.is_empty() && rule["clusterScope"] != true {
        let text = "resource rules that are not cluster scoped must supply at least one namespace";
        faults.required(field, text);
    } else if !star(rule, "namespaces", "namespaces", at, faults) {
        for (i, name) in namespaces.into_iter().enumerate() {
            let complaints = names::label(name).into_iter();
            let told = complaints
                .map(|text| format!("each member of this list must be '*' or a DNS-1123 label; {text}"));
            faults.complain(&format!("{field}[{i}]"), name, told.collect());
        }
    }
}

fn path_rule(rule: &Value, at: &str, faults: &mut Faults) {
    verbs(rule, at, faults);
    let paths = texts(&rule["nonResourceURLs"]);
    let field = format!("{at}.nonResourceURLs");
    if paths.is_empty() {
        let text = "nonResourceURLs must contain at least one value";
        faults.required(field, text);
    } else if !star(rule, "nonResourceURLs", "non-resource URLs", at, faults) {
        for (i, path) in paths.into_iter().enumerate() {
            if let Some(text) = path_fault(path) {
                faults.invalid(format!("{field}[{i}]"), path, text);
            }
        }
    }
}

fn path_fault(path: &str) -> Option<&'static str> {
    let stars = path.matches('*').count();
    match path {
        "" => Some("must not be empty"),
        "/" => None,
        path if !path.starts_with('/') => Some("must start with slash"),
        path if path.contains(' ') => Some("must not contain white-space"),
        path if path.contains("//") => Some("must not contain double slash"),
        path if stars > 1 || (stars == 1 && !path.ends_with("/*")) => {
            Some("wildcard can only do suffix matching")
        }
        _ => None,
    }
}

pub(super) fn validate_status(new: &Value, _: &Value, faults: &mut Faults) {
    let mut seen = HashSet::new();
    for (i, condition) in list(&new["status"]["conditions"]).iter().enumerate() {
        let (of, field) = (string(condition, "type"), format!("status.conditions[{i}].type"));
        if !seen.insert(of) {
            faults.duplicate(field.as_str(), of);
        }
        if of.is_empty() {
            faults.required(field, "");
        }
    }
}
