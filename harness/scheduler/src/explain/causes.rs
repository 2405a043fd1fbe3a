//! Causes beside the scheduler: why no decision of it can help a pod, or why the pod waits although it has a node.
//!
//! Each is one sentence about one object, with the remedy. Decides nothing.

use std::sync::Arc;

use crate::objects::{Claim, Class, Node, Pod, PodVolume, driver_of};
use crate::snapshot::Snapshot;

/// Provisioner of classes whose volumes only people make.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
/// Nodes that are named at most.
const NAMED: usize = 3;

/// The causes that the pod's claims show, in the order of the pod.
pub(super) fn causes(snapshot: &Snapshot, pod: &Pod) -> Vec<String> {
    let volumes = pod.volumes.iter();
    let mut causes: Vec<String> = volumes
        .flat_map(|volume| match snapshot.claims.get(&volume.claim) {
            Some(claim) => of_claim(snapshot, pod, volume, claim),
            None => vec![missing(volume)],
        })
        .collect();
    let mut known = std::collections::BTreeSet::new();
    causes.retain(|cause| known.insert(cause.clone()));
    causes
}

fn missing(PodVolume { claim, ephemeral }: &PodVolume) -> String {
    match ephemeral {
        true => format!(
            "claim {claim} does not exist yet: the ephemeral volume controller of kube-controller-manager makes it; see whether that runs, and \
             the pod's events"
        ),
        false => format!("claim {claim} does not exist; create it, or correct claimName in the pod"),
    }
}

fn of_claim(snapshot: &Snapshot, pod: &Pod, volume: &PodVolume, claim: &Claim) -> Vec<String> {
    let key = &claim.key;
    if volume.ephemeral && claim.controller.as_ref() != Some(&pod.uid) {
        return vec![format!(
            "claim {key} has the name of the pod's ephemeral claim and belongs to another owner; delete it, or give the pod another name"
        )];
    }
    if claim.deleting {
        return vec![format!(
            "claim {key} is being deleted, and new pods cannot use it; once no pod uses it, it goes, and can be created again"
        )];
    }
    let Some(name) = &claim.volume else {
        return unbound(snapshot, pod, claim);
    };
    match snapshot.volume(name) {
        None => vec![format!(
            "claim {key} is bound to PersistentVolume {name}, which does not exist; restore the volume, or delete the claim and make it anew"
        )],
        Some(volume) if volume.deleting => vec![format!(
            "PersistentVolume {name} of claim {key} is being deleted; it goes when the claim does"
        )],
        Some(_) => Vec::new(),
    }
}

fn unbound(snapshot: &Snapshot, pod: &Pod, claim: &Claim) -> Vec<String> {
    let key = &claim.key;
    if claim.class.is_empty() {
        return vec![format!(
            "claim {key} names no StorageClass, so it waits for a PersistentVolume that suits it; make one, or make the claim anew with a class"
        )];
    }
    let Some(class) = snapshot.class(&claim.class) else {
        return vec![format!(
            "there is no StorageClass {}, which claim {key} names; create it, or make the claim anew with another one",
            claim.class
        )];
    };
    let provisioner = &class.provisioner;
    let mut causes = Vec::new();
    if provisioner != NO_PROVISIONER {
        causes.extend(of_driver(snapshot, class));
    }
    if !class.delayed {
        causes.push(format!(
            "claim {key} is not bound, and class {} is Immediate: {provisioner} makes its volume before any pod is scheduled; see the claim's \
             events and the log of the driver's controller",
            class.key.name
        ));
    } else if let (Some(node), None) = (&pod.node, &claim.selected_node) {
        causes.push(format!(
            "the pod was put on node {node} by spec.nodeName, past the scheduler, and only a scheduler selects a node for a claim: claim {key} \
             waits for its first consumer for ever; use nodeSelector or affinity in the place of nodeName"
        ));
    } else if let Some(node) = &claim.selected_node {
        causes.push(format!(
            "node {node} is selected for claim {key}, and {provisioner} has not made its volume yet; see the claim's events and the log of the \
             driver's controller"
        ));
    }
    causes
}

/// What a driver that is to make a volume lacks.
fn of_driver(snapshot: &Snapshot, class: &Arc<Class>) -> Vec<String> {
    let driver = driver_of(&class.provisioner);
    // A dump without any CSINode says nothing of them.
    if snapshot.csi_nodes.is_empty() {
        return Vec::new();
    }
    let registered: Vec<_> = snapshot
        .csi_nodes
        .iter()
        .filter_map(|csi_node| Some((csi_node, csi_node.driver(driver)?)))
        .collect();
    // Drivers of network storage may have no part on nodes, but those that track capacity by node have.
    let is_csi = snapshot.driver(driver).is_some();
    if registered.is_empty() {
        return match is_csi {
            true => vec![format!(
                "no CSINode lists driver {driver}: it is registered on no node, so that it makes no volumes there and nobody publishes capacity; \
                 see whether the pods of its node plugin run, and the log of their node-driver-registrar"
            )],
            false => vec![format!(
                "there is no CSIDriver {driver}, and no CSINode lists it: the driver of class {} is not installed; install it, or correct the \
                 provisioner of the class",
                class.key.name
            )],
        };
    }
    let mut causes = Vec::new();
    let keys: std::collections::BTreeSet<&String> = registered
        .iter()
        .flat_map(|(_, driver)| &driver.topology_keys)
        .collect();
    for key in keys {
        let lacks = |node: &&Arc<Node>| !node.labels.contains_key(key);
        let lacking: Vec<&str> = registered
            .iter()
            .filter(|(_, driver)| driver.topology_keys.contains(key))
            .filter_map(|(csi_node, _)| snapshot.nodes.get(&csi_node.key))
            .filter(lacks)
            .map(|node| node.name())
            .collect();
        if !lacking.is_empty() {
            causes.push(format!(
                "node {} has no label {key}, although its CSINode lists that topology key of driver {driver}: the driver cannot tell its segment; \
                 restart the driver's pod there, so that the kubelet sets the label again",
                named(&lacking)
            ));
        }
    }
    causes
}

fn named(nodes: &[&str]) -> String {
    match nodes.len() {
        ..=NAMED => nodes.join(", "),
        count => format!("{} and {} more", nodes[..NAMED].join(", "), count - NAMED),
    }
}
