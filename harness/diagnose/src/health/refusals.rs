//! Health indicators: pods that were rejected for lack of storage although storage may be available. Operators check this before they roll
//! storage capacity tracking back.

use std::collections::BTreeSet;

use capacity_types::segment::contains;
use capacity_types::{ByteConversion, Labels, SIDECAR_PREFIX, quantity::format_bytes};
use serde_json::Value;

use super::{DriverCapacity, Indicator, ObservedCluster, Question, State};
use crate::explain::{self, ExplainOptions};
use capacity_scheduler::filter::NOT_ENOUGH_SPACE;
use capacity_scheduler::objects::{Claim, Node, ObjectKey, Pod};
use capacity_scheduler::rules::Rules;

/// One indicator for each rejected pod; if no pod was rejected, one indicator that states this.
pub(super) fn indicators(observed: &ObservedCluster<'_>, rules: &Rules) -> Vec<Indicator> {
    let pods = observed.inventory.pods.values();
    let unschedulable = pods.filter(|pod| is_unschedulable(pod));
    let mut all: Vec<_> = unschedulable.map(|pod| indicator(observed, rules, pod)).collect();
    if all.is_empty() {
        let message = "no pod is unschedulable for lack of storage".to_owned();
        all.push(Indicator::new(Question::Refusals, "pods", State::Good, message));
    }
    all
}

fn is_unschedulable(pod: &Pod) -> bool {
    let condition = pod.scheduled_condition().filter(|it| it.status == "False");
    let message = condition.and_then(|it| it.message.as_deref());
    pod.node.is_none() && message.is_some_and(|message| message.contains(NOT_ENOUGH_SPACE))
}

fn indicator(observed: &ObservedCluster<'_>, rules: &Rules, pod: &Pod) -> Indicator {
    let (state, message) = match (
        fitting_node(observed, rules, pod),
        unpublished_capacity(observed, pod),
    ) {
        (Some(node), _) => (
            State::Bad,
            format!(
                "unschedulable for lack of storage, but it fits {node} according to the published capacity: the scheduler has not observed that yet, or another scheduler is responsible"
            ),
        ),
        (None, Some(Some(unpublished))) => (
            State::Bad,
            format!(
                "unschedulable for lack of storage, but {unpublished}: the publisher has not updated the objects"
            ),
        ),
        (None, Some(None)) => (
            State::Good,
            "unschedulable for lack of storage, and no driver has enough".to_owned(),
        ),
        (None, None) => (
            State::Unknown,
            "unschedulable for lack of storage; the capacity of the drivers is unknown".to_owned(),
        ),
    };
    Indicator::new(Question::Refusals, &format!("pod {}", pod.key), state, message)
}

/// The first node on which the pod fits according to the published CSIStorageCapacity objects.
fn fitting_node(observed: &ObservedCluster<'_>, rules: &Rules, pod: &Pod) -> Option<String> {
    let snapshot = &observed.inventory.snapshot;
    let explained = explain::pod(snapshot, rules, pod, &ExplainOptions::default()).ok()?;
    let mut nodes = explained.nodes.into_iter();
    nodes.find(|node| node.fits).map(|node| node.node)
}

/// Capacity that a driver returned for a PVC of the pod but that no CSIStorageCapacity object contains. Outer `None`: no driver responses.
fn unpublished_capacity(observed: &ObservedCluster<'_>, pod: &Pod) -> Option<Option<String>> {
    let driver_capacities = observed.reported.driver_capacities.as_ref()?;
    let claims = pod.volumes.iter();
    let claims = claims.filter_map(|volume| observed.inventory.snapshot.claims.get(&volume.claim));
    let mut open = claims.filter(|claim| claim.volume.is_none());
    Some(open.find_map(|claim| unpublished_for_claim(observed, claim, driver_capacities)))
}

fn unpublished_for_claim(
    observed: &ObservedCluster<'_>,
    claim: &Claim,
    driver_capacities: &[DriverCapacity],
) -> Option<String> {
    let wanted = claim.request?.bytes(ByteConversion::Exact);
    let class = observed.inventory.snapshot.class(&claim.class)?;
    let parameters = parameters(observed, &class.key);
    let sufficient = driver_capacities.iter().filter(|capacity| {
        let is_own = capacity.driver == class.provisioner && capacity.parameters == parameters;
        is_own && i128::from(capacity.bytes) >= wanted
    });
    let nodes: BTreeSet<(&str, i64)> = sufficient
        .flat_map(|capacity| {
            let nodes = observed.inventory.snapshot.nodes.iter();
            let accessible = nodes.filter(|node| contains(&node.labels, &capacity.segment));
            accessible
                .filter(|node| published_limit(observed, &claim.class, node) < wanted)
                .map(|node| (node.key.name.as_str(), capacity.bytes))
        })
        .collect();
    let (node, bytes) = nodes.first()?;
    let bytes = format_bytes(i128::from(*bytes));
    Some(format!(
        "the driver has {bytes} for class {} on node {node}, which is not published",
        claim.class
    ))
}

/// Size in bytes of the largest volume that the published CSIStorageCapacity objects allow on a node; -1 without an object.
fn published_limit(observed: &ObservedCluster<'_>, class: &str, node: &Node) -> i128 {
    let objects = &observed.inventory.snapshot.capacities;
    let reaching = objects.accessible_from(class, &node.labels);
    let limits = reaching.filter_map(|object| object.largest_volume());
    limits
        .map(|limit| limit.bytes(ByteConversion::Exact))
        .max()
        .unwrap_or(-1)
}

/// The parameters of a StorageClass that are passed to the driver: those without the prefix for sidecars.
fn parameters(observed: &ObservedCluster<'_>, class: &ObjectKey) -> Labels {
    let mut classes = observed.of_kind("StorageClass");
    let object = classes.find(|object| object["metadata"]["name"] == class.name.as_str());
    let parameters = object.and_then(|object| object["parameters"].as_object());
    let own = parameters.into_iter().flatten();
    own.filter(|(name, _)| !name.starts_with(SIDECAR_PREFIX))
        .map(|(name, value)| (name.clone(), Value::as_str(value).unwrap_or_default().to_owned()))
        .collect()
}
