//! Rejects pod fields that kube-scheduler uses to choose a node and the built-in scheduler ignores, because such fields would have no
//! effect in a case.

use serde_json::Value;

use crate::scenario::Role;

/// Affinity field that affects only the scores of nodes.
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Fields of a pod's `spec` that the built-in scheduler ignores, each with the kube-scheduler plugin that uses the field.
const OTHER_PLUGINS: [(&str, &str); 3] = [
    ("resourceClaims", "DynamicResources"),
    ("schedulingGroup", "GangScheduling"),
    ("workloadRef", "GangScheduling"),
];

/// Checks that the built-in scheduler supports all scheduling fields of a pod. Skips pods with a nodeName, which need no scheduler.
pub(super) fn check(object: &Value, roles: &[Role]) -> Result<(), String> {
    let spec = &object["spec"];
    let has_node = spec["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    if object["kind"] != "Pod" || !roles.contains(&Role::Scheduler) || has_node {
        return Ok(());
    }
    let no_effect = |field: &str, why: &str| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Err(format!(
            "`spec.{field}` of pod `{name}` has no effect: {why}; remove it"
        ))
    };
    if let Some((field, plugin)) = OTHER_PLUGINS.iter().find(|(field, _)| is_set(&spec[*field])) {
        return no_effect(field, &format!("the scheduler of a case has no plugin {plugin}"));
    }
    const ONLY_SCORES: &str =
        "the field only affects scores, and the scheduler of a case scores only storage";
    for kind in ["nodeAffinity", "podAffinity", "podAntiAffinity"] {
        if is_set(&spec["affinity"][kind][PREFERRED]) {
            return no_effect(&format!("affinity.{kind}.{PREFERRED}"), ONLY_SCORES);
        }
    }
    let constraints = spec["topologySpreadConstraints"].as_array();
    let mut constraints = constraints.into_iter().flatten();
    match constraints.any(|constraint| constraint["whenUnsatisfiable"] == "ScheduleAnyway") {
        true => no_effect(
            "topologySpreadConstraints",
            &format!("with ScheduleAnyway {ONLY_SCORES}"),
        ),
        false => Ok(()),
    }
}

fn is_set(field: &Value) -> bool {
    match field {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        _ => true,
    }
}
