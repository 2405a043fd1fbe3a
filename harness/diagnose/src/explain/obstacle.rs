//! What exactly excludes a pod from a node: the taint, the label or the resource.
//!
//! kube-scheduler only counts nodes per reason and does not name the taint, label or resource. Makes no decisions: describes a rejection by
//! the scheduler.

use capacity_types::quantity::format_bytes;
use capacity_types::{Labels, NodeSelector};

use capacity_scheduler::cycle::{Cause, Rejected};
use capacity_scheduler::filter::ConflictReason;
use capacity_scheduler::filters::{FilterReason, InsufficientResource, Skew};
use capacity_scheduler::objects::{Node, Pod};
use capacity_scheduler::snapshot::Snapshot;

/// Describes each obstacle as a sentence. Empty if the scheduler's reason already names the obstacle.
pub(super) fn obstacles(snapshot: &Snapshot, pod: &Pod, refused: &Rejected) -> Vec<String> {
    let node = &*refused.node;
    match &refused.cause {
        Cause::Filter(unfit) => node_obstacles(pod, node, unfit),
        Cause::Volumes(refusals) => refusals
            .iter()
            .filter_map(|refusal| volume_obstacles(snapshot, node, refusal))
            .flatten()
            .collect(),
        Cause::Extender { .. } => Vec::new(),
    }
}

fn node_obstacles(pod: &Pod, node: &Node, unfit: &FilterReason) -> Vec<String> {
    let sentence = match unfit {
        FilterReason::UntoleratedTaint(_) => return untolerated_taints(pod, node),
        FilterReason::NodeNameMismatch | FilterReason::NodeSelectorMismatch => {
            return unmet_labels(pod, node);
        }
        FilterReason::InsufficientResources(short) => {
            return short.iter().map(insufficient_resource).collect();
        }
        FilterReason::Cordoned => "the node is cordoned: spec.unschedulable is true".to_owned(),
        FilterReason::HostPortInUse(port) => format!("a pod on the node has host port {port}"),
        FilterReason::DiskInUse(disk) => format!("a pod on the node uses {disk}"),
        FilterReason::ClaimInUse(claim) => {
            format!("claim {claim} has access mode ReadWriteOncePod, and another pod uses it")
        }
        FilterReason::TooManyVolumes(limit) => format!(
            "the pod adds {} volumes of driver {}; {} of {} are attached (limit of CSINode {})",
            limit.added,
            limit.driver,
            limit.attached,
            limit.limit,
            node.name()
        ),
        FilterReason::ZoneMismatch { volume, key } => {
            format!(
                "volume {volume} has another value of label {key}; the node has {}",
                label_text(&node.labels, key)
            )
        }
        FilterReason::MissingTopologyLabel(key) => {
            format!("the node has no label {key}, which a topology spread constraint of the pod uses")
        }
        FilterReason::MaxSkewExceeded(Skew {
            key,
            value,
            pods,
            fewest,
            max,
        }) => format!(
            "{key}={value} has {pods} matching pods, and the domain with the fewest has {fewest}; maxSkew is {max}"
        ),
        FilterReason::AffinityUnsatisfied(key) => match node.labels.contains_key(key) {
            true => format!(
                "no pod that the pod's affinity selects is on a node with {}",
                label_text(&node.labels, key)
            ),
            false => format!("the node has no label {key}, which the pod's affinity uses"),
        },
        FilterReason::AntiAffinityUnsatisfied { pod: other, key } => format!(
            "pod {other}, which the pod's anti-affinity selects, is on a node with {}",
            label_text(&node.labels, key)
        ),
        FilterReason::ExistingAntiAffinity { pod: other, key } => format!(
            "pod {other}, whose anti-affinity selects this pod, is on a node with {}",
            label_text(&node.labels, key)
        ),
    };
    vec![sentence]
}

/// Every taint that the pod does not tolerate. The scheduler's reason contains only the first one.
fn untolerated_taints(pod: &Pod, node: &Node) -> Vec<String> {
    let untolerated = node
        .taints
        .iter()
        .filter(|taint| !taint.is_tolerated(&pod.tolerations));
    let sentence = |taint: &capacity_scheduler::objects::Taint| {
        let value = match taint.value.as_str() {
            "" => String::new(),
            value => format!("={value}"),
        };
        format!(
            "the pod does not tolerate taint {}{value}:{}",
            taint.key, taint.effect
        )
    };
    untolerated.map(sentence).collect()
}

fn unmet_labels(pod: &Pod, node: &Node) -> Vec<String> {
    let mut found: Vec<String> = pod
        .node_selector
        .iter()
        .filter(|(key, value)| node.labels.get(key.as_str()) != Some(*value))
        .map(|(key, value)| {
            let present = label_text(&node.labels, key);
            format!("the pod's nodeSelector requires {key}={value}; the node has {present}")
        })
        .collect();
    if let Some(affinity) = &pod.affinity {
        found.extend(unmet_requirements(
            affinity,
            node.name(),
            &node.labels,
            "the pod's node affinity",
        ));
    }
    found
}

fn volume_obstacles(snapshot: &Snapshot, node: &Node, refusal: &ConflictReason) -> Option<Vec<String>> {
    let ConflictReason::NodeConflict { claim, volume } = refusal else {
        return None;
    };
    let affinity = snapshot.volume(volume)?.affinity.as_ref()?;
    let selector_name = format!("the node affinity of volume {volume}, to which claim {claim} is bound,");
    Some(unmet_requirements(affinity, "", &node.labels, &selector_name))
}

/// The requirements of a node selector that a node does not meet: one sentence per term. A node must meet one of the terms.
fn unmet_requirements(
    selector: &NodeSelector,
    name: &str,
    labels: &Labels,
    selector_name: &str,
) -> Vec<String> {
    let terms = selector.unmet(name, labels);
    // A node selector matches if one of its terms matches.
    if terms.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    if terms.is_empty() {
        return vec![format!(
            "{selector_name} has no term that can be evaluated, so it matches no node"
        )];
    }
    let one = |requirements: &Vec<(String, Option<String>)>| {
        let each = requirements.iter().map(|(requirement, key)| match key {
            None => requirement.clone(),
            Some(key) => format!("{requirement} (the node has {})", label_text(labels, key)),
        });
        each.collect::<Vec<_>>().join(" and ")
    };
    let terms: Vec<String> = terms.iter().map(one).collect();
    vec![format!("{selector_name} requires {}", terms.join(", or "))]
}

fn label_text(labels: &Labels, key: &str) -> String {
    match labels.get(key) {
        Some(value) => format!("{key}={value}"),
        None => format!("no label {key}"),
    }
}

fn insufficient_resource(insufficient: &InsufficientResource) -> String {
    let InsufficientResource {
        resource,
        requested,
        used,
        allocatable,
    } = insufficient;
    let text = |amount: i64| match resource.as_str() {
        "cpu" => format!("{amount}m"),
        "memory" | "ephemeral-storage" => format_bytes(amount.into()),
        _ => amount.to_string(),
    };
    if resource == "pods" {
        return format!("the node already has the {allocatable} pods that it allows");
    }
    let free = allocatable.saturating_sub(*used);
    let [requested, free, all] = [*requested, free, *allocatable].map(text);
    format!("the pod requests {requested} of {resource}; {free} of {all} are free")
}
