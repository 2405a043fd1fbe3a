//! Pods rejected for lack of storage although there may be some: what an operator checks before rolling the feature back.

use std::collections::BTreeSet;

use capacity_types::segment::contains;
use capacity_types::{Arithmetic, Labels, SIDECAR_PREFIX, quantity::format_bytes};
use serde_json::Value;

use super::{Answer, Indicator, Observed, Question, State};
use crate::explain::{self, Detail};
use capacity_scheduler::filter::NOT_ENOUGH_SPACE;
use capacity_scheduler::objects::{Claim, Node, ObjectKey, Pod};
use capacity_scheduler::rules::Rules;

/// One indicator for each rejected pod, or one that reports that there is none.
pub(super) fn indicators(observed: &Observed<'_>, rules: &Rules) -> Vec<Indicator> {
    let pods = observed.inventory.pods.values();
    let refused = pods.filter(|pod| is_refused(pod));
    let mut all: Vec<_> = refused.map(|pod| indicator(observed, rules, pod)).collect();
    if all.is_empty() {
        let told = "no pod is unschedulable for lack of storage".to_owned();
        all.push(Indicator::new(Question::Refusals, "pods", State::Good, told));
    }
    all
}

fn is_refused(pod: &Pod) -> bool {
    let condition = pod.scheduled_condition().filter(|it| it.status == "False");
    let message = condition.and_then(|it| it.message.as_deref());
    pod.node.is_none() && message.is_some_and(|message| message.contains(NOT_ENOUGH_SPACE))
}

fn indicator(observed: &Observed<'_>, rules: &Rules, pod: &Pod) -> Indicator {
    let (state, told) = match (fitting(observed, rules, pod), hidden(observed, pod)) {
        (Some(node), _) => (
            State::Bad,
            format!(
                "unschedulable for lack of storage, but it fits {node} according to the published capacity: the scheduler has not observed that yet, or another scheduler is responsible"
            ),
        ),
        (None, Some(Some(hidden))) => (
            State::Bad,
            format!("unschedulable for lack of storage, but {hidden}: the publisher has not updated the objects"),
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
    Indicator::new(Question::Refusals, &format!("pod {}", pod.key), state, told)
}

/// A node that fits the pod according to the existing objects.
fn fitting(observed: &Observed<'_>, rules: &Rules, pod: &Pod) -> Option<String> {
    let snapshot = &observed.inventory.snapshot;
    let explained = explain::pod(snapshot, rules, pod, &Detail::default()).ok()?;
    let mut nodes = explained.nodes.into_iter();
    nodes.find(|node| node.fits).map(|node| node.node)
}

/// Unpublished capacity of a driver for a PVC of the pod. Outer `None`: driver responses are unknown.
fn hidden(observed: &Observed<'_>, pod: &Pod) -> Option<Option<String>> {
    let answers = observed.told.answers.as_ref()?;
    let claims = pod.volumes.iter();
    let claims = claims.filter_map(|volume| observed.inventory.snapshot.claims.get(&volume.claim));
    let mut open = claims.filter(|claim| claim.volume.is_none());
    Some(open.find_map(|claim| of_claim(observed, claim, answers)))
}

fn of_claim(observed: &Observed<'_>, claim: &Claim, answers: &[Answer]) -> Option<String> {
    let wanted = claim.request?.bytes(Arithmetic::Exact);
    let class = observed.inventory.snapshot.class(&claim.class)?;
    let parameters = parameters(observed, &class.key);
    let meant = answers.iter().filter(|answer| {
        let is_own = answer.driver == class.provisioner && answer.parameters == parameters;
        is_own && i128::from(answer.bytes) >= wanted
    });
    let places: BTreeSet<(&str, i64)> = meant
        .flat_map(|answer| {
            let nodes = observed.inventory.snapshot.nodes.iter();
            let reached = nodes.filter(|node| contains(&node.labels, &answer.segment));
            reached
                .filter(|node| published(observed, &claim.class, node) < wanted)
                .map(|node| (node.key.name.as_str(), answer.bytes))
        })
        .collect();
    let (node, bytes) = places.first()?;
    let bytes = format_bytes(i128::from(*bytes));
    Some(format!(
        "the driver has {bytes} for class {} on node {node}, which is not published",
        claim.class
    ))
}

/// The largest volume that objects offer on a node. -1 if there is no object.
fn published(observed: &Observed<'_>, class: &str, node: &Node) -> i128 {
    let objects = &observed.inventory.snapshot.capacities;
    let reaching = objects.reaching(class, &node.labels);
    let limits = reaching.filter_map(|object| object.limit());
    limits
        .map(|limit| limit.bytes(Arithmetic::Exact))
        .max()
        .unwrap_or(-1)
}

/// The parameters of a class as the driver receives them.
fn parameters(observed: &Observed<'_>, class: &ObjectKey) -> Labels {
    let mut classes = observed.of_kind("StorageClass");
    let object = classes.find(|object| object["metadata"]["name"] == class.name.as_str());
    let parameters = object.and_then(|object| object["parameters"].as_object());
    let own = parameters.into_iter().flatten();
    own.filter(|(name, _)| !name.starts_with(SIDECAR_PREFIX))
        .map(|(name, value)| (name.clone(), Value::as_str(value).unwrap_or_default().to_owned()))
        .collect()
}
