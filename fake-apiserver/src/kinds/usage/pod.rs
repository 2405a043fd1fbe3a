//! What a pod asks for, and what of that quotas count.

use crate::kinds::resource_names;
use crate::machinery::amounts::Amounts;
use crate::machinery::json::{list, string};
use crate::machinery::quantity::Quantity;
use serde_json::Value;

/// What quotas count of pods by fixed names.
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
/// What every container has to say once a quota counts it.
const DEMANDED: [&str; 6] = [
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.memory",
];

pub(super) fn tracks(name: &str) -> bool {
    let extended = name
        .strip_prefix("requests.")
        .is_some_and(|rest| rest.contains('/') && !rest.contains("kubernetes.io/"));
    TRACKED.contains(&name)
        || resource_names::is_huge_pages(name)
        || name.starts_with("requests.hugepages-")
        || extended
}

pub(super) fn is_terminating(pod: &Value) -> bool {
    pod["spec"]["activeDeadlineSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds >= 0)
}

/// What a pod uses that has not come to its end.
pub(super) fn usage(pod: &Value) -> Amounts {
    let has_ended = ["Failed", "Succeeded"].contains(&string(&pod["status"], "phase"));
    if has_ended {
        return Amounts::default();
    }
    by_name(&requests(pod), &limits(pod))
}

/// Requests and limits by the names of quotas.
fn by_name(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut used = Amounts::default();
    used.set("pods", Quantity::from_integer(1));
    for (name, amount) in &requests.0 {
        let is_plain = ["cpu", "memory", "ephemeral-storage"].contains(&name.as_str());
        if is_plain || resource_names::is_huge_pages(name) {
            used.set(name.clone(), amount.clone());
        }
        used.set(format!("requests.{name}"), amount.clone());
    }
    for (name, amount) in &limits.0 {
        used.set(format!("limits.{name}"), amount.clone());
    }
    used
}

/// What a pod requests altogether, its overhead included.
pub(crate) fn requests(pod: &Value) -> Amounts {
    let mut all = altogether(pod, "requests");
    all.add(&Amounts::read(&pod["spec"]["overhead"]));
    all
}

/// What a pod is limited to altogether. Overhead counts where there is a limit.
pub(crate) fn limits(pod: &Value) -> Amounts {
    let mut all = altogether(pod, "limits");
    let overhead = Amounts::read(&pod["spec"]["overhead"]);
    all.add(&overhead.filtered(|name, _| all.get(name).is_some()));
    all
}

/// What a pod and its containers say; what the pod itself says comes first.
fn altogether(pod: &Value, side: &str) -> Amounts {
    let spec = &pod["spec"];
    let mut all = of_containers(spec, side);
    let whole = Amounts::read(&spec["resources"][side]);
    let whole = whole.filtered(|name, _| resource_names::is_of_whole_pod(name));
    all.0.extend(whole.0);
    all
}

/// The sum of the containers, or what one of those needs that run before them.
pub(crate) fn of_containers(spec: &Value, side: &str) -> Amounts {
    let of = |container: &Value| Amounts::read(&container["resources"][side]);
    let mut all = Amounts::default();
    for container in list(&spec["containers"]) {
        all.add(&of(container));
    }
    // Init containers that go on running add up, and are there while later ones run.
    let (mut running, mut before) = (Amounts::default(), Amounts::default());
    for container in list(&spec["initContainers"]) {
        let own = of(container);
        if container["restartPolicy"] == "Always" {
            all.add(&own);
            running.add(&own);
            before.raise(&running);
        } else {
            let mut now = running.clone();
            now.add(&own);
            before.raise(&now);
        }
    }
    all.raise(&before);
    all
}

/// The containers that do not say what a quota counts, by what they should say.
pub(super) fn lacking<'a>(pod: &Value, hard: impl Iterator<Item = &'a str>) -> Vec<(String, Vec<String>)> {
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
            by_name(&of("requests"), &of("limits")).get(name).is_none()
        });
        let mut names: Vec<String> = missing.map(|one| string(one, "name").to_owned()).collect();
        names.sort();
        (name.to_owned(), names)
    });
    lacking.filter(|(_, names)| !names.is_empty()).collect()
}
