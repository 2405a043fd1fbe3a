//! Validation of scheduling constraints: affinity, tolerations, topology spread, gates (`ValidatePodSpec` of core/v1).

use super::super::selectors::{self, LabelValueCheck};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{self, list, string};
use crate::machinery::names;
use serde_json::{Value, json};
use std::collections::HashSet;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn affinity(affinity: &Value, field: &str, errors: &mut ErrorList) {
    let nodes = &affinity["nodeAffinity"];
    if !nodes[REQUIRED].is_null() {
        let at = format!("{field}.nodeAffinity.{REQUIRED}");
        selectors::nodes(&nodes[REQUIRED], &at, LabelValueCheck::Labels, errors);
    }
    for (i, term) in list(&nodes[PREFERRED]).iter().enumerate() {
        let at = format!("{field}.nodeAffinity.{PREFERRED}[{i}]");
        weight(term, &at, errors);
        selectors::node_term(
            &term["preference"],
            &format!("{at}.preference"),
            LabelValueCheck::Any,
            errors,
        );
    }
    for side in ["podAffinity", "podAntiAffinity"] {
        let pods = &affinity[side];
        for (i, term) in list(&pods[REQUIRED]).iter().enumerate() {
            pod_term(term, &format!("{field}.{side}.{REQUIRED}[{i}]"), errors);
        }
        for (i, term) in list(&pods[PREFERRED]).iter().enumerate() {
            let at = format!("{field}.{side}.{PREFERRED}[{i}]");
            weight(term, &at, errors);
            pod_term(&term["podAffinityTerm"], &format!("{at}.podAffinityTerm"), errors);
        }
    }
}

fn weight(term: &Value, at: &str, errors: &mut ErrorList) {
    let weight = term["weight"].as_i64().unwrap_or_default();
    if !(1..=100).contains(&weight) {
        errors.invalid(format!("{at}.weight"), weight, "must be in the range 1-100");
    }
}

fn pod_term(term: &Value, at: &str, errors: &mut ErrorList) {
    for selector in ["labelSelector", "namespaceSelector"] {
        selectors::labels(&term[selector], &format!("{at}.{selector}"), errors);
    }
    for name in json::texts(&term["namespaces"]) {
        errors.invalid_all(&format!("{at}.namespace"), name, names::dns_label(name));
    }
    label_keys(term, at, errors);
    let key = string(term, "topologyKey");
    let field = format!("{at}.topologyKey");
    if key.is_empty() {
        errors.required(field.as_str(), "can not be empty");
    }
    errors.invalid_all(&field, key, names::qualified_name(key));
}

/// Validates `matchLabelKeys` and `mismatchLabelKeys` of an affinity term or topology spread constraint: they require a `labelSelector`.
fn label_keys(term: &Value, at: &str, errors: &mut ErrorList) {
    let selector = &term["labelSelector"];
    for list in ["matchLabelKeys", "mismatchLabelKeys"] {
        let field = format!("{at}.{list}");
        let keys = json::texts(&term[list]);
        if !keys.is_empty() && selector.is_null() {
            errors.forbidden(field, "must not be specified when labelSelector is not set");
            continue;
        }
        for (i, key) in keys.into_iter().enumerate() {
            errors.invalid_all(&format!("{field}[{i}]"), key, names::qualified_name(key));
        }
    }
    let matched = json::texts(&term["matchLabelKeys"]);
    let mut selected: Vec<&str> = json::string_members(&selector["matchLabels"])
        .map(|(key, _)| key)
        .collect();
    for expression in list(&selector["matchExpressions"]) {
        let key = string(expression, "key");
        if let Some(i) = matched.iter().rposition(|known| *known == key)
            && selected.contains(&key)
        {
            let text = "exists in both matchLabelKeys and labelSelector";
            errors.invalid(format!("{at}[{i}]"), key, text);
        }
        selected.push(key);
    }
    let mismatched = json::texts(&term["mismatchLabelKeys"]);
    for (i, key) in matched
        .iter()
        .enumerate()
        .filter(|(_, key)| mismatched.contains(key))
    {
        let text = "exists in both matchLabelKeys and mismatchLabelKeys";
        errors.invalid(format!("{at}.matchLabelKeys[{i}]"), *key, text);
    }
}

/// Validates `spec.tolerations`.
pub fn tolerations(tolerations: &Value, field: &str, errors: &mut ErrorList) {
    for (i, toleration) in list(tolerations).iter().enumerate() {
        let at = format!("{field}[{i}]");
        let (key, operator) = (string(toleration, "key"), string(toleration, "operator"));
        let effect = string(toleration, "effect");
        if key.is_empty() && operator != "Exists" {
            let text =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.invalid(format!("{at}.operator"), operator, text);
        } else if !key.is_empty() {
            errors.invalid_all(&format!("{at}.key"), key, names::qualified_name(key));
        }
        if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
            let text = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.invalid(format!("{at}.effect"), effect, text);
        }
        toleration_operator(
            string(toleration, "value"),
            operator,
            &format!("{at}.operator"),
            errors,
        );
        if !effect.is_empty() && !EFFECTS.contains(&effect) {
            errors.not_supported(format!("{at}.effect"), effect, &EFFECTS);
        }
    }
}

fn toleration_operator(value: &str, operator: &str, field: &str, errors: &mut ErrorList) {
    match operator {
        "Equal" | "" => {
            let complaints = names::label_value(value);
            if !complaints.is_empty() {
                errors.invalid(field, value, &complaints.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            errors.invalid(field, value, "value must be empty when `operator` is 'Exists'");
        }
        "Exists" => {}
        // `Lt` and `Gt` exist since 1.35; their feature gate is off.
        "Lt" | "Gt" => errors.not_supported(field, operator, &["Equal", "Exists", "Lt", "Gt"]),
        _ => errors.not_supported(field, operator, &["Equal", "Exists"]),
    }
}

/// Validates `spec.schedulingGates`.
pub(super) fn gates(gates: &Value, field: &str, errors: &mut ErrorList) {
    let gates = list(gates);
    let mut seen = HashSet::new();
    for (i, gate) in gates.iter().enumerate() {
        let (name, at) = (string(gate, "name"), format!("{field}[{i}]"));
        errors.invalid_all(&at, name, names::qualified_name(name));
        if !seen.insert(name) {
            errors.duplicate(at, name);
        }
    }
}

pub(super) fn topology_spread(constraints: &Value, field: &str, errors: &mut ErrorList) {
    let constraints = list(constraints);
    for (i, constraint) in constraints.iter().enumerate() {
        let at = format!("{field}[{i}]");
        positive(&constraint["maxSkew"], &format!("{at}.maxSkew"), errors);
        let (key, action) = (
            string(constraint, "topologyKey"),
            string(constraint, "whenUnsatisfiable"),
        );
        if key.is_empty() {
            errors.required(format!("{at}.topologyKey"), "can not be empty");
        }
        let field = format!("{at}.whenUnsatisfiable");
        errors.one_of(&field, action, &["DoNotSchedule", "ScheduleAnyway"]);
        let pair = |constraint: &Value| json!([constraint["topologyKey"], constraint["whenUnsatisfiable"]]);
        if constraints[i + 1..]
            .iter()
            .any(|later| pair(later) == pair(constraint))
        {
            let field = format!("{at}.{{topologyKey, whenUnsatisfiable}}");
            errors.duplicate(field, format!("{{{key}, {action}}}"));
        }
        if let Some(domains) = constraint["minDomains"].as_i64() {
            let field = format!("{at}.minDomains");
            positive(&constraint["minDomains"], &field, errors);
            if action != "DoNotSchedule" {
                let text =
                    format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                errors.invalid(field, domains, &text);
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if let Some(chosen) = constraint[policy].as_str() {
                errors.one_of(&format!("{at}.{policy}"), chosen, &["Honor", "Ignore"]);
            }
        }
        label_keys(constraint, &at, errors);
        selectors::labels(
            &constraint["labelSelector"],
            &format!("{at}.labelSelector"),
            errors,
        );
    }
}

fn positive(number: &Value, field: &str, errors: &mut ErrorList) {
    let number = number.as_i64().unwrap_or_default();
    if number <= 0 {
        errors.invalid(field, number, "must be greater than zero");
    }
}
