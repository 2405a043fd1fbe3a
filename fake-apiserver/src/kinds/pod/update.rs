//! Validation of pod updates (`ValidatePodUpdate` of core/v1). Bindings are written through their own subresource.

use super::super::internal_form;
use crate::machinery::error_list::ErrorList;
use crate::machinery::json;
use serde_json::Value;
use std::collections::HashSet;

const ONLY: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

pub(super) fn validate(new: &Value, old: &Value, errors: &mut ErrorList) {
    let (new, old) = (&new["spec"], &old["spec"]);
    for list in ["containers", "initContainers"] {
        if json::list(&new[list]).len() != json::list(&old[list]).len() {
            errors.forbidden(
                format!("spec.{list}"),
                "pod updates may not add or remove containers",
            );
            return;
        }
        images(list, &new[list], errors);
    }
    if !deadline(
        &new["activeDeadlineSeconds"],
        &old["activeDeadlineSeconds"],
        errors,
    ) {
        return;
    }
    tolerations(&new["tolerations"], &old["tolerations"], errors);
    validate_gate_removal(&new["schedulingGates"], &old["schedulingGates"], errors);
    let mut allowed = new.clone();
    restore_mutable_fields(&mut allowed, old);
    if !json::list(&old["schedulingGates"]).is_empty() {
        validate_gated_pod(&mut allowed, old, errors);
    }
    if allowed != *old {
        let diff = internal_form::diff("PodSpec", old, &allowed);
        errors.forbidden("spec", &format!("{ONLY}\n{diff}"));
    }
}

fn images(list: &str, containers: &Value, errors: &mut ErrorList) {
    for (i, container) in json::list(containers).iter().enumerate() {
        let image = container["image"].as_str().unwrap_or_default();
        let field = format!("spec.{list}[{i}].image");
        if image.is_empty() {
            errors.required(field, "");
        } else if image.trim() != image {
            errors.invalid(field, image, "must not have leading or trailing whitespace");
        }
    }
}

/// Validates a change of `activeDeadlineSeconds`: it may be set or shortened. Returns whether validation should continue.
fn deadline(new: &Value, old: &Value, errors: &mut ErrorList) -> bool {
    let field = "spec.activeDeadlineSeconds";
    let Some(seconds) = new.as_i64() else {
        if !old.is_null() {
            errors.invalid(
                field,
                Value::Null,
                "must not update from a positive integer to nil value",
            );
        }
        return true;
    };
    if !(0..=i64::from(i32::MAX)).contains(&seconds) {
        errors.invalid(field, seconds, "must be between 0 and 2147483647, inclusive");
        return false;
    }
    if old.as_i64().is_some_and(|old| old < seconds) {
        errors.invalid(field, seconds, "must be less than or equal to previous value");
        return false;
    }
    true
}

/// Validates changed tolerations: tolerations may be added, and `tolerationSeconds` may change.
fn tolerations(new: &Value, old: &Value, errors: &mut ErrorList) {
    let lasting = |toleration: &Value| {
        let mut toleration = toleration.clone();
        json::assign(&mut toleration, "tolerationSeconds", Value::Null);
        toleration
    };
    let all: HashSet<Value> = json::list(new).iter().map(lasting).collect();
    if !json::list(old).iter().map(lasting).all(|old| all.contains(&old)) {
        let text = "existing toleration can not be modified except its tolerationSeconds";
        errors.forbidden("spec.tolerations", text);
        return;
    }
    super::placement::tolerations(new, "spec.tolerations", errors);
}

fn validate_gate_removal(new: &Value, old: &Value, errors: &mut ErrorList) {
    let known: HashSet<&Value> = json::list(old).iter().map(|gate| &gate["name"]).collect();
    for (i, gate) in json::list(new).iter().enumerate() {
        if !known.contains(&gate["name"]) {
            let name = gate["name"].as_str().unwrap_or_default();
            let text = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.forbidden(format!("spec.schedulingGates[{i}].name"), &text);
        }
    }
}

/// Resets the mutable fields of `allowed` to their old values, so that comparing the specs finds only invalid changes.
fn restore_mutable_fields(allowed: &mut Value, old: &Value) {
    for list in ["containers", "initContainers"] {
        let before = json::list(&old[list]).iter();
        let list = format!("/{list}");
        json::entries(allowed, &list)
            .zip(before)
            .for_each(|(container, before)| container["image"] = before["image"].clone());
    }
    for name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        json::assign(allowed, name, old[name].clone());
    }
    let grace = "terminationGracePeriodSeconds";
    if old[grace].as_i64().is_some_and(|old| old < 0) && allowed[grace] == 1 {
        allowed[grace] = old[grace].clone();
    }
}

/// Validates changes of a pod with scheduling gates: its node selector and required node affinity may become stricter.
fn validate_gated_pod(allowed: &mut Value, old: &Value, errors: &mut ErrorList) {
    if allowed["nodeSelector"] != old["nodeSelector"] {
        let is_unchanged = |(key, value): (&str, &str)| allowed["nodeSelector"][key] == value;
        if !json::string_members(&old["nodeSelector"]).all(is_unchanged) {
            let text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            errors.invalid("spec.nodeSelector", allowed["nodeSelector"].clone(), text);
        }
        json::assign(allowed, "nodeSelector", old["nodeSelector"].clone());
    }
    let before = &old["affinity"]["nodeAffinity"];
    if allowed["affinity"]["nodeAffinity"] == *before {
        return;
    }
    node_affinity(&allowed["affinity"]["nodeAffinity"], before, errors);
    json::member(allowed, "affinity");
    json::assign(&mut allowed["affinity"], "nodeAffinity", before.clone());
    if old["affinity"].is_null()
        && allowed["affinity"]
            .as_object()
            .is_some_and(serde_json::Map::is_empty)
    {
        json::assign(allowed, "affinity", Value::Null);
    }
}

fn node_affinity(new: &Value, old: &Value, errors: &mut ErrorList) {
    let terms = |affinity: &Value| json::list(&affinity[REQUIRED]["nodeSelectorTerms"]).to_vec();
    let (new, old) = (terms(new), terms(old));
    let field = format!("spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms");
    if old.is_empty() {
        return;
    }
    if old.len() != new.len() {
        let text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        let shown = internal_form::format_compact("[]NodeSelectorTerm", &new.into());
        errors.invalid_as(field, &shown, text);
        return;
    }
    for (i, (new, old)) in new.iter().zip(&old).enumerate() {
        if !only_adds_requirements(new, old) {
            let text = "only additions are allowed (no mutations or deletions)";
            let shown = internal_form::format_compact("NodeSelectorTerm", new);
            errors.invalid_as(format!("{field}[{i}]"), &shown, text);
        }
    }
}

/// Whether a node selector term starts with all requirements of the old term. An empty term matches no node and must remain empty.
fn only_adds_requirements(new: &Value, old: &Value) -> bool {
    let lists =
        ["matchExpressions", "matchFields"].map(|list| (json::list(&new[list]), json::list(&old[list])));
    let was_empty = lists.iter().all(|(_, old)| old.is_empty());
    let is_empty = lists.iter().all(|(new, _)| new.is_empty());
    (!was_empty || is_empty) && lists.iter().all(|(new, old)| new.starts_with(old))
}
