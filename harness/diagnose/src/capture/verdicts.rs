//! Compares the scheduler's verdict about each captured pod in the cluster with the verdict in the case file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use capacity_scheduler::Options;
use capacity_scheduler::objects::{Claim, Object, ObjectKey, PodVolume};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::store::Collection;
use capacity_types::ephemeral_claim_name;
use serde_json::{Value, json};

use super::{CaptureError, CaptureOptions, Captured, NAMESPACE, capture};
use crate::explain::{self, ExplainOptions, NodeView};
use crate::inventory::Inventory;
use crate::snapshot::{Error, Snapshot};

/// Captures the situation of a pod from a snapshot. Errors are those of [`capture`]; the error for a pod that does not exist also states
/// whether the dump lacks the pod's namespace.
pub fn capture_cluster(cluster: &Snapshot, options: &CaptureOptions) -> Result<Captured, Error> {
    let rules = Options::default().rules()?;
    let objects = cluster.objects();
    let fits =
        |namespace: &str, name: &str| fits_any_node(&objects, &cluster.inventory, &rules, namespace, name);
    capture(&objects, &fits, options).map_err(|error| match &error {
        CaptureError::NoPod(namespace, _) => format!("{error}{}", cluster.missing_pod_hint(namespace)).into(),
        _ => error.into(),
    })
}

/// Differences between the scheduler's verdicts in the cluster and in the case file. `objects`: the objects of the case file. For each pod,
/// a sentence about the first node whose verdict differs.
pub fn differences(cluster: &Snapshot, captured: &Captured, objects: Vec<Value>) -> Vec<String> {
    let (Ok(file), Ok(rules)) = (
        Snapshot::of_objects(with_priorities(objects)),
        Options::default().rules(),
    ) else {
        return Vec::new();
    };
    let differing = |((namespace, name), own): &((String, String), String)| {
        let before = node_verdicts(
            &cluster.inventory,
            &rules,
            &ObjectKey::namespaced(namespace, name),
        )?;
        let after = node_verdicts(&file.inventory, &rules, &ObjectKey::namespaced(NAMESPACE, own))?;
        let after: BTreeMap<&String, &NodeView> = after.iter().map(|node| (&node.node, node)).collect();
        let mut pairs = before.iter().filter_map(|node| {
            let own = captured.nodes.get(&node.node)?;
            Some((node, *after.get(own)?))
        });
        let (node, other) = pairs.find(|(one, other)| one.fits != other.fits)?;
        let verdict = |view: &NodeView| match view.fits {
            true => "fits".to_owned(),
            false => format!("does not fit ({})", view.reasons.join(", ")),
        };
        Some(format!(
            "pod {namespace}/{name} {} node {} in the cluster, and {} in the file",
            verdict(node),
            node.node,
            verdict(other)
        ))
    };
    captured.pods.iter().filter_map(differing).collect()
}

/// The verdict about a pod for each node, sorted by node name. `None`: the scheduler's decision about the pod cannot be explained.
fn node_verdicts(inventory: &Inventory, rules: &Rules, pod: &ObjectKey) -> Option<Vec<NodeView>> {
    let detail = ExplainOptions {
        node: None,
        objects: 0,
    };
    let explained = explain::pod(&inventory.snapshot, rules, inventory.pods.get(pod)?, &detail);
    Some(explained.ok()?.nodes)
}

/// Sets the priority and preemption policy of pods, as the admission plugin Priority does.
fn with_priorities(mut objects: Vec<Value>) -> Vec<Value> {
    let is_class = |object: &&Value| object["kind"] == "PriorityClass";
    let classes: Vec<Value> = objects.iter().filter(is_class).cloned().collect();
    for pod in objects.iter_mut().filter(|object| object["kind"] == "Pod") {
        let named = |class: &&Value| class["metadata"]["name"] == pod["spec"]["priorityClassName"];
        if let Some(class) = classes.iter().find(named) {
            pod["spec"]["priority"] = class["value"].clone();
            pod["spec"]["preemptionPolicy"] = class["preemptionPolicy"].clone();
        }
    }
    objects
}

/// The PVCs of a pod's ephemeral volumes that do not exist yet, as the ephemeral volume controller would create them.
fn ephemeral_claims(pod: &Value, inventory: &Inventory) -> Vec<Arc<Claim>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &pod["metadata"];
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let claim = |volume: &Value| {
        let template = &volume["ephemeral"]["volumeClaimTemplate"];
        let name = ephemeral_claim_name(&text(&metadata["name"]), &text(&volume["name"]));
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": text(&metadata["uid"]), "controller": true});
        let claim = json!({
            "metadata": {"name": name, "namespace": metadata["namespace"], "ownerReferences": [owner]}, "spec": template["spec"],
        });
        let claim = Claim::read(&serde_json::from_value(claim).ok()?).ok()?;
        let is_missing = !template.is_null() && inventory.snapshot.claims.stored(claim.key()).is_none();
        is_missing.then(|| Arc::new(claim))
    };
    volumes.filter_map(claim).collect()
}

/// Whether a pod fits on any node, with preemption if needed, after its ephemeral PVCs and its volumes with Immediate binding were created.
fn fits_any_node(
    objects: &[Value],
    inventory: &Inventory,
    rules: &Rules,
    namespace: &str,
    name: &str,
) -> bool {
    let Some(pod) = inventory.pods.get(&ObjectKey::namespaced(namespace, name)) else {
        return false;
    };
    let mut snapshot = Cow::Borrowed(&inventory.snapshot);
    if pod.volumes.iter().any(|volume| volume.ephemeral) {
        let source = objects.iter().find(|object| {
            let metadata = &object["metadata"];
            object["kind"] == "Pod"
                && metadata["name"] == name
                && metadata["namespace"].as_str().unwrap_or("default") == namespace
        });
        for claim in source
            .into_iter()
            .flat_map(|pod| ephemeral_claims(pod, inventory))
        {
            snapshot.to_mut().claims.put(claim);
        }
    }
    let snapshot = &*snapshot;
    let waits_for_pod = |volume: &PodVolume| {
        let claim = snapshot.claims.stored(&volume.claim);
        let class = claim
            .filter(|claim| claim.volume.is_none())
            .and_then(|claim| snapshot.class(&claim.class));
        class.is_none_or(|class| class.delayed)
    };
    let mut pod = (**pod).clone();
    pod.volumes.retain(waits_for_pod);
    let detail = ExplainOptions {
        node: None,
        objects: 0,
    };
    // A pod that cannot be explained, for example because a PVC does not exist, fits on no node.
    explain::pod(snapshot, rules, &pod, &detail)
        .is_ok_and(|explained| explained.preemption.is_some() || explained.nodes.iter().any(|node| node.fits))
}
