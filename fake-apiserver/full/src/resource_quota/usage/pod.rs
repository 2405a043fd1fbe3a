//! Quota usage of pods: count, requests and limits.

use fake_apiserver::extension::json::{list, string};
use fake_apiserver::extension::{Amounts, pod_limits, pod_requests};
use fake_apiserver::quantity::Quantity;
use serde_json::Value;

/// The quota resources that pods use and that have fixed names.
const TRACKED: [&str; 10] = [
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "pods",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
/// Resources that every container must specify if a quota limits them.
const DEMANDED: [&str; 6] = [
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.memory",
];

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

pub(super) fn tracks(name: &str) -> bool {
    let extended = name
        .strip_prefix("requests.")
        .is_some_and(|rest| rest.contains('/') && !rest.contains("kubernetes.io/"));
    TRACKED.contains(&name) || is_huge_pages(name) || name.starts_with("requests.hugepages-") || extended
}

pub(super) fn is_terminating(pod: &Value) -> bool {
    pod["spec"]["activeDeadlineSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds >= 0)
}

/// The quota usage of a pod; empty if the pod has terminated.
pub(super) fn usage(pod: &Value) -> Amounts {
    let has_ended = ["Failed", "Succeeded"].contains(&string(&pod["status"], "phase"));
    if has_ended {
        return Amounts::default();
    }
    quota_amounts(&pod_requests(pod), &pod_limits(pod))
}

/// Converts amounts to quota resources: a CPU request counts as `cpu` and `requests.cpu`, a CPU limit as `limits.cpu`.
fn quota_amounts(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut used = Amounts::default();
    used.set("pods", Quantity::from_integer(1));
    for (name, amount) in &requests.0 {
        let is_plain = ["cpu", "memory", "ephemeral-storage"].contains(&name.as_str());
        if is_plain || is_huge_pages(name) {
            used.set(name.clone(), amount.clone());
        }
        used.set(format!("requests.{name}"), amount.clone());
    }
    for (name, amount) in &limits.0 {
        used.set(format!("limits.{name}"), amount.clone());
    }
    used
}

/// Quota resources that containers must specify but do not, each with the names of the containers that lack the resource.
pub(super) fn unspecified_resources<'a>(
    pod: &Value,
    hard: impl Iterator<Item = &'a str>,
) -> Vec<(String, Vec<String>)> {
    let spec = &pod["spec"];
    let is_said_for_all = ["requests", "limits"]
        .iter()
        .any(|side| spec["resources"][*side].is_object());
    if is_said_for_all {
        return Vec::new();
    }
    let containers = || {
        ["containers", "initContainers"]
            .into_iter()
            .flat_map(|of| list(&spec[of]))
    };
    let lacking = hard.filter(|name| DEMANDED.contains(name)).map(|name| {
        let missing = containers().filter(|container| {
            let of = |side: &str| Amounts::read(&container["resources"][side]);
            quota_amounts(&of("requests"), &of("limits")).get(name).is_none()
        });
        let mut names: Vec<String> = missing.map(|one| string(one, "name").to_owned()).collect();
        names.sort();
        (name.to_owned(), names)
    });
    lacking.filter(|(_, names)| !names.is_empty()).collect()
}
