//! Reads the fields of a pod, other than volumes, that affect scheduling.

use std::collections::BTreeMap;

use capacity_types::Quantity;
use serde_json::{Map, Value, json};

use super::names::Names;
use super::reduce;

pub(super) const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const NANOS_PER_MILLI: i128 = 1_000_000;
const PRIORITY_MAX: i64 = 1_000_000_000;
const NANOS: i128 = 1_000_000_000;

/// The required terms of a pod's `podAffinity` or `podAntiAffinity`.
pub(super) fn required_affinity_terms<'a>(
    pod: &'a Value,
    kind: &str,
) -> impl Iterator<Item = &'a Value> + use<'a> {
    let terms = pod["spec"]["affinity"][kind][REQUIRED].as_array();
    terms.into_iter().flatten()
}

pub(super) fn host_ports(pod: &Value) -> impl Iterator<Item = &Value> {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let ports = containers.flat_map(|container| container["ports"].as_array().into_iter().flatten());
    ports.filter(|port| port["hostPort"].as_i64().is_some_and(|port| port > 0))
}

/// The resource requests of a pod, in billionths of each resource's unit.
pub(super) fn requests(pod: &Value) -> BTreeMap<String, i128> {
    let spec = &pod["spec"];
    let list = |field: &str| spec[field].as_array().into_iter().flatten();
    let of = |container: &Value| amounts(&container["resources"]["requests"]);
    let (mut running, mut most) = (BTreeMap::new(), BTreeMap::new());
    for container in list("initContainers") {
        let mut beside = running.clone();
        add(&mut beside, of(container));
        if container["restartPolicy"] == "Always" {
            running = beside.clone();
        }
        raise(&mut most, beside);
    }
    for container in list("containers") {
        add(&mut running, of(container));
    }
    raise(&mut running, most);
    running.extend(amounts(&spec["resources"]["requests"]));
    add(&mut running, amounts(&spec["overhead"]));
    running
}

/// Whether the pod has requests in addition to those of its containers: overhead or pod-level resources.
pub(super) fn has_pod_level_requests(pod: &Value) -> bool {
    !pod["spec"]["overhead"].is_null() || !pod["spec"]["resources"]["requests"].is_null()
}

fn amounts(source: &Value) -> BTreeMap<String, i128> {
    let amount = |(name, value): (&String, &Value)| {
        let quantity: Quantity = reduce::quantity(value)?.parse().ok()?;
        Some((name.clone(), quantity.nanos()))
    };
    source
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(amount)
        .collect()
}

fn add(to: &mut BTreeMap<String, i128>, more: BTreeMap<String, i128>) {
    for (name, amount) in more {
        *to.entry(name).or_default() += amount;
    }
}

fn raise(to: &mut BTreeMap<String, i128>, other: BTreeMap<String, i128>) {
    for (name, amount) in other {
        let own = to.entry(name).or_default();
        *own = (*own).max(amount);
    }
}

/// A container's `resources` that request these amounts, which are in billionths of each resource's unit.
pub(super) fn resources_of(amounts: &BTreeMap<String, i128>, names: &mut Names) -> Value {
    let written = amounts.iter().map(|(name, nanos)| {
        let amount = match name.as_str() {
            "cpu" => format!("{}m", (nanos + NANOS_PER_MILLI - 1).div_euclid(NANOS_PER_MILLI)),
            _ => (nanos + NANOS - 1).div_euclid(NANOS).to_string(),
        };
        (name.as_str(), amount)
    });
    container_resources(written, names)
}

/// A container's `resources` with the given requests. Extended resources also get the limits that the API requires.
pub(super) fn container_resources<'a>(
    requested: impl Iterator<Item = (&'a str, String)>,
    names: &mut Names,
) -> Value {
    let (mut requests, mut limits) = (Map::new(), Map::new());
    for (name, amount) in requested {
        let own = reduce::resource(name, names);
        if name.contains('/') || name.starts_with("hugepages-") {
            limits.insert(own.clone(), amount.clone().into());
        }
        requests.insert(own, amount.into());
    }
    let mut resources = json!({"requests": requests});
    if !limits.is_empty() {
        resources["limits"] = limits.into();
    }
    resources
}

/// The priority of a pod, and whether its preemptionPolicy is Never.
pub(super) fn priority(pod: &Value) -> (i64, bool) {
    let value = pod["spec"]["priority"].as_i64().unwrap_or(0);
    // The maximum priority of user-defined PriorityClasses is one billion.
    let value = value.clamp(-PRIORITY_MAX, PRIORITY_MAX);
    (value, pod["spec"]["preemptionPolicy"] == "Never")
}

/// Name of the PriorityClass with this priority and preemption policy. `None` for the default priority.
pub(super) fn priority_class((value, never): (i64, bool)) -> Option<String> {
    let sign = if value < 0 { "below" } else { "priority" };
    let never = match (value, never) {
        (0, false) => return None,
        (_, true) => "-never",
        (_, false) => "",
    };
    Some(format!("{sign}-{}{never}", value.abs()))
}

/// The PriorityClass object with this priority and preemption policy.
pub(super) fn priority_object(priority: (i64, bool)) -> Option<Value> {
    let name = priority_class(priority)?;
    let policy = if priority.1 {
        "Never"
    } else {
        "PreemptLowerPriority"
    };
    Some(json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
        "value": priority.0, "preemptionPolicy": policy,
    }))
}
