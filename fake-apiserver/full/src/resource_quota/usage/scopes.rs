//! The scopes of ResourceQuotas: which pods and PVCs a quota counts.

use super::pod::is_terminating;
use fake_apiserver::extension::json::{list, string, texts};
use serde_json::{Value, json};

/// The scopes of a ResourceQuota, each converted to a requirement of a scopeSelector.
pub(super) fn scope_requirements(spec: &Value) -> Vec<Value> {
    let plain = texts(&spec["scopes"]).into_iter();
    let plain = plain.map(|name| json!({"scopeName": name, "operator": "Exists"}));
    let selected = list(&spec["scopeSelector"]["matchExpressions"]).iter().cloned();
    plain.chain(selected).collect()
}

pub(super) fn matches_pod(scope: &Value, pod: &Value) -> bool {
    let is_best_effort = || string(&pod["status"], "qosClass") == "BestEffort";
    match string(scope, "scopeName") {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => is_best_effort(),
        "NotBestEffort" => !is_best_effort(),
        "PriorityClass" => satisfies_requirement(scope, &[string(&pod["spec"], "priorityClassName")]),
        "CrossNamespacePodAffinity" => crosses_namespaces(&pod["spec"]["affinity"]),
        _ => false,
    }
}

pub(super) fn matches_claim(scope: &Value, claim: &Value) -> bool {
    let classes = [
        string(&claim["spec"], "volumeAttributesClassName"),
        string(&claim["status"], "currentVolumeAttributesClassName"),
        string(
            &claim["status"]["modifyVolumeStatus"],
            "targetVolumeAttributesClassName",
        ),
    ];
    string(scope, "scopeName") == "VolumeAttributesClass" && satisfies_requirement(scope, &classes)
}

/// Whether the names of an object's PriorityClass or VolumeAttributesClass satisfy a scopeSelector requirement. Empty names are ignored.
fn satisfies_requirement(scope: &Value, names: &[&str]) -> bool {
    let names: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
    let wanted = texts(&scope["values"]);
    match string(scope, "operator") {
        "Exists" => !names.is_empty(),
        "DoesNotExist" => names.is_empty(),
        "In" => names.iter().any(|name| wanted.contains(name)),
        "NotIn" => names.is_empty() || names.iter().any(|name| !wanted.contains(name)),
        _ => false,
    }
}

/// Whether a pod affinity term has `namespaces` or `namespaceSelector`, and thus selects pods of other namespaces.
fn crosses_namespaces(affinity: &Value) -> bool {
    let crosses =
        |term: &Value| !list(&term["namespaces"]).is_empty() || !term["namespaceSelector"].is_null();
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let of = &affinity[*kind];
        let required = list(&of["requiredDuringSchedulingIgnoredDuringExecution"]).iter();
        let preferred = list(&of["preferredDuringSchedulingIgnoredDuringExecution"]).iter();
        required
            .chain(preferred.map(|term| &term["podAffinityTerm"]))
            .any(crosses)
    })
}
