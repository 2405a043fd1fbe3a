//! What exactly keeps a pod off a node: the taint, the label, the resource.
//!
//! kube-scheduler's reasons name none of these, since they are counted over nodes. Decides nothing: it describes a refusal that was
//! decided elsewhere.

use capacity_types::Labels;
use capacity_types::quantity::format_bytes;

use crate::cycle::{Cause, Refused};
use crate::filter::Refusal;
use crate::node_fit::{Short, Unfit};
use crate::node_selector::NodeSelector;
use crate::objects::{Node, Pod};
use crate::snapshot::Snapshot;

/// Each obstacle as a sentence; none where the reason says it all.
pub(super) fn obstacles(snapshot: &Snapshot, pod: &Pod, refused: &Refused) -> Vec<String> {
    let node = &*refused.node;
    match &refused.cause {
        Cause::Unfit(unfit) => of_node(snapshot, pod, node, unfit),
        Cause::Volumes(refusals) => refusals
            .iter()
            .filter_map(|refusal| of_volume(snapshot, node, refusal))
            .flatten()
            .collect(),
        Cause::Extender { .. } => Vec::new(),
    }
}

fn of_node(snapshot: &Snapshot, pod: &Pod, node: &Node, unfit: &Unfit) -> Vec<String> {
    match unfit {
        Unfit::Cordoned => vec!["the node is cordoned: spec.unschedulable is true".to_owned()],
        Unfit::Tainted(_) => tolerance(pod, node),
        Unfit::NotNamed | Unfit::LabelsDiffer => labels(pod, node),
        Unfit::Full(short) => short
            .iter()
            .map(|short| amounts(snapshot, pod, node, *short))
            .collect(),
    }
}

/// Every taint that the pod does not tolerate: the reason stands for the first alone.
fn tolerance(pod: &Pod, node: &Node) -> Vec<String> {
    let repelling = node
        .taints
        .iter()
        .filter(|taint| !taint.is_tolerated(&pod.tolerations));
    let sentence = |taint: &crate::objects::Taint| {
        let value = match taint.value.as_str() {
            "" => String::new(),
            value => format!("={value}"),
        };
        format!(
            "the pod does not tolerate taint {}{value}:{}",
            taint.key, taint.effect
        )
    };
    repelling.map(sentence).collect()
}

fn labels(pod: &Pod, node: &Node) -> Vec<String> {
    let mut found: Vec<String> = pod
        .node_selector
        .iter()
        .filter(|(key, value)| node.labels.get(key.as_str()) != Some(*value))
        .map(|(key, value)| {
            let has = has(&node.labels, key);
            format!("the pod's nodeSelector requires {key}={value}; the node has {has}")
        })
        .collect();
    if let Some(affinity) = &pod.affinity {
        found.extend(unmet(
            affinity,
            node.name(),
            &node.labels,
            "the pod's node affinity",
        ));
    }
    found
}

fn of_volume(snapshot: &Snapshot, node: &Node, refusal: &Refusal) -> Option<Vec<String>> {
    let Refusal::NodeConflict { claim, volume } = refusal else {
        return None;
    };
    let affinity = snapshot.volume(volume)?.affinity.as_ref()?;
    let who = format!("the node affinity of volume {volume}, to which claim {claim} is bound,");
    Some(unmet(affinity, "", &node.labels, &who))
}

/// What a selector requires and the node has not, a sentence for each of its terms, of which one would do.
fn unmet(selector: &NodeSelector, name: &str, labels: &Labels, who: &str) -> Vec<String> {
    let terms = selector.unmet(name, labels);
    // A term that is met is no obstacle, nor is any other then.
    if terms.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    if terms.is_empty() {
        return vec![format!(
            "{who} has no term that can be evaluated, so it matches no node"
        )];
    }
    let one = |requirements: &Vec<(String, Option<String>)>| {
        let each = requirements.iter().map(|(requirement, key)| match key {
            None => requirement.clone(),
            Some(key) => format!("{requirement} (the node has {})", has(labels, key)),
        });
        each.collect::<Vec<_>>().join(" and ")
    };
    let terms: Vec<String> = terms.iter().map(one).collect();
    vec![format!("{who} requires {}", terms.join(", or "))]
}

fn has(labels: &Labels, key: &str) -> String {
    match labels.get(key) {
        Some(value) => format!("{key}={value}"),
        None => format!("no label {key}"),
    }
}

fn amounts(snapshot: &Snapshot, pod: &Pod, node: &Node, short: Short) -> String {
    let all = node.allocatable.unwrap_or_default();
    let left = all.minus(snapshot.usage.on(node.name()));
    match short {
        Short::Pods => format!("the node takes {} pods, and they are there", all.pods),
        Short::Cpu => format!(
            "the pod requests {}m of cpu; {}m of {}m are left",
            pod.requests.cpu_milli, left.cpu_milli, all.cpu_milli
        ),
        Short::Memory => {
            let [requested, left, all] =
                [pod.requests.memory, left.memory, all.memory].map(|bytes| format_bytes(bytes.into()));
            format!("the pod requests {requested} of memory; {left} of {all} are left")
        }
    }
}
