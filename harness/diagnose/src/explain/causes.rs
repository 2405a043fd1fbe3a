//! Reasons outside the scheduler why a pod does not start: the pod cannot start whatever the scheduler decides, or it waits although it has
//! a node.
//!
//! Each reason is one sentence about one object, with the remedy. Makes no scheduling decisions.

use std::sync::Arc;

use capacity_scheduler::Options;
use capacity_scheduler::objects::{Claim, Class, Lease, Node, ObjectKey, Pod, PodVolume, driver_of};
use capacity_scheduler::snapshot::Snapshot;

use crate::text::first_names;

const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
/// Maximum number of nodes that one sentence lists.
const LISTED_MAX: usize = 3;

/// The namespace of kube-controller-manager and kube-scheduler, and of their Leases.
const SYSTEM: &str = "kube-system";
/// A running leader renews its Lease several times per `leaseDurationSeconds`. A leader that has not renewed its Lease for this number of
/// durations has stopped.
const LEASE_DURATIONS: i64 = 4;

/// Why the pod's PVCs prevent its start, in volume order, followed by the reason why no scheduler has tried the pod.
pub(super) fn causes(snapshot: &Snapshot, pod: &Pod) -> Vec<String> {
    let volumes = pod.volumes.iter();
    let mut causes: Vec<String> = volumes
        .flat_map(|volume| match snapshot.claims.get(&volume.claim) {
            Some(claim) => claim_causes(snapshot, pod, volume, claim),
            None => vec![missing_claim(volume)],
        })
        .collect();
    causes.extend(not_attempted(snapshot, pod));
    let mut known = std::collections::BTreeSet::new();
    causes.retain(|cause| known.insert(cause.clone()));
    causes
}

fn missing_claim(PodVolume { claim, ephemeral }: &PodVolume) -> String {
    match ephemeral {
        true => format!(
            "claim {claim} does not exist yet: the ephemeral volume controller of kube-controller-manager creates it; check that it runs, and see \
             the pod's events"
        ),
        false => format!("claim {claim} does not exist; create it, or correct claimName in the pod"),
    }
}

fn claim_causes(snapshot: &Snapshot, pod: &Pod, volume: &PodVolume, claim: &Claim) -> Vec<String> {
    let key = &claim.key;
    if volume.ephemeral && claim.controller.as_ref() != Some(&pod.uid) {
        return vec![format!(
            "claim {key} has the name of the pod's ephemeral claim and belongs to another owner; delete it, or give the pod another name"
        )];
    }
    if claim.deleting {
        return vec![format!(
            "claim {key} is being deleted, so new pods cannot use it; wait until it is removed, then create it again"
        )];
    }
    let Some(name) = &claim.volume else {
        return unbound_claim_causes(snapshot, pod, claim);
    };
    match snapshot.volume(name) {
        None => vec![format!(
            "claim {key} is bound to PersistentVolume {name}, which does not exist; restore the volume, or delete and recreate the claim"
        )],
        Some(volume) if volume.deleting => vec![format!(
            "PersistentVolume {name} of claim {key} is being deleted; it is removed together with the claim"
        )],
        Some(_) => Vec::new(),
    }
}

fn unbound_claim_causes(snapshot: &Snapshot, pod: &Pod, claim: &Claim) -> Vec<String> {
    let key = &claim.key;
    if claim.class.is_empty() {
        return vec![format!(
            "claim {key} has no StorageClass, so the claim waits for a matching PersistentVolume; create a PersistentVolume, or recreate the claim with a class"
        )];
    }
    let Some(class) = snapshot.class(&claim.class) else {
        return vec![format!(
            "StorageClass {} of claim {key} does not exist; create it, or recreate the claim with another one",
            claim.class
        )];
    };
    let provisioner = &class.provisioner;
    let mut causes = Vec::new();
    if provisioner != NO_PROVISIONER {
        causes.extend(driver_causes(snapshot, class));
    }
    causes.extend(data_source_cause(snapshot, pod, claim));
    let is_due = !class.delayed || claim.selected_node.is_some();
    if is_due && !claim.has_provisioner_annotation && provisioner != NO_PROVISIONER {
        causes.push(format!(
            "claim {key} has no annotation volume.kubernetes.io/storage-provisioner, with which the PersistentVolume controller requests a volume from \
             {provisioner}: check that kube-controller-manager runs{}",
            expired_lease(snapshot, "kube-controller-manager", |lease| lease.key.namespace == SYSTEM).unwrap_or_default()
        ));
    } else if !class.delayed {
        causes.push(format!(
            "claim {key} is not bound, and class {} is Immediate: {provisioner} must create its volume before a pod is scheduled; see the claim's \
             events and the log of the driver's controller{}",
            class.key.name,
            stopped_controller(snapshot, provisioner)
        ));
    } else if let (Some(node), None) = (&pod.node, &claim.selected_node) {
        causes.push(format!(
            "the pod was assigned to node {node} by spec.nodeName without the scheduler, which selects the node of a claim: claim {key} \
             waits for its first consumer forever; use nodeSelector or node affinity instead of nodeName"
        ));
    } else if let Some(node) = &claim.selected_node {
        causes.push(format!(
            "node {node} is selected for claim {key}, and {provisioner} has not created its volume yet; see the claim's events and the log of the \
             driver's controller{}",
            stopped_controller(snapshot, provisioner)
        ));
    }
    causes
}

/// End of a sentence about a driver whose controller seems not to run: its Lease has expired, or no external-provisioner pod is
/// ready. Empty if the controller seems to run.
fn stopped_controller(snapshot: &Snapshot, provisioner: &str) -> String {
    // csi-lib-utils derives the name of external-provisioner's Lease from the driver name by replacing special characters.
    let is_plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = provisioner.chars().map(is_plain).collect();
    if let Some(expired) = expired_lease(snapshot, &name, |_| true) {
        return expired;
    }
    let provisioners: Vec<&Pod> = snapshot
        .pods
        .iter()
        .map(|(_, pod)| &**pod)
        .filter(|pod| pod.is_provisioner)
        .collect();
    if provisioners.is_empty() || provisioners.iter().any(|pod| pod.is_ready()) {
        return String::new();
    }
    let mut names: Vec<String> = provisioners.iter().map(|pod| pod.key.to_string()).collect();
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    format!(
        "; no pod with an external-provisioner is ready, see {}",
        first_names(&names, LISTED_MAX)
    )
}

/// End of a sentence that states when the Lease was last renewed. `None` if the Lease has not expired. The time of the listing is derived
/// from the newest `renewTime`s of all Leases.
fn expired_lease(snapshot: &Snapshot, name: &str, matches: impl Fn(&Lease) -> bool) -> Option<String> {
    let mut times: Vec<i64> = snapshot.leases.iter().filter_map(|lease| lease.renewed).collect();
    times.sort_unstable();
    // With more than two Leases, the second latest `renewTime` counts as now, because the clock of one node may be ahead.
    let now = *times.iter().rev().nth(usize::from(times.len() > 2))?;
    let matching = snapshot
        .leases
        .iter()
        .filter(|lease| lease.key.name == name && matches(lease));
    let last = matching
        .filter_map(|lease| Some((lease.renewed?, lease)))
        .max_by_key(|(renewed, _)| *renewed);
    let (renewed, lease) = last?;
    (now - renewed > LEASE_DURATIONS * lease.seconds.max(1)).then(|| {
        format!(
            "; its Lease {} was last renewed {} seconds before other Leases, so it has no leader",
            lease.key,
            now - renewed
        )
    })
}

/// A sentence that states that the pod's scheduler is not running, according to Leases or newer pods.
fn not_attempted(snapshot: &Snapshot, pod: &Pod) -> Option<String> {
    if pod.node.is_some() || pod.gated || pod.deleting || pod.scheduled_condition().is_some() {
        return None;
    }
    let scheduler = &pod.scheduler_name;
    if *scheduler == Options::default().scheduler_name {
        let expired = expired_lease(snapshot, "kube-scheduler", |lease| lease.key.namespace == SYSTEM)?;
        return Some(format!(
            "no scheduler has attempted the pod: check that kube-scheduler runs{expired}"
        ));
    }
    let newer = |other: &&Arc<Pod>| pod.created.is_some() && other.created > pod.created;
    let newer_pods: Vec<&Arc<Pod>> = snapshot
        .pods
        .iter()
        .map(|(_, other)| other)
        .filter(newer)
        .collect();
    let other = newer_pods
        .first()
        .filter(|_| newer_pods.iter().all(|other| other.scheduler_name != *scheduler))?;
    Some(format!(
        "scheduler {scheduler} has neither attempted the pod nor placed a newer one, while the newer pod {} of another scheduler has a \
         node: check that {scheduler} runs, or recreate the pod with the spec.schedulerName of a running scheduler",
        other.key
    ))
}

/// Why no volume can be created from the PVC's `dataSource`. The scheduler does not check the data source.
fn data_source_cause(snapshot: &Snapshot, pod: &Pod, claim: &Claim) -> Option<String> {
    let key = &claim.key;
    let (kind, name, namespace) = claim.source.as_ref()?;
    if kind != "PersistentVolumeClaim" {
        return claim.selected_node.as_ref().map(|_| {
            format!("the volume of claim {key} is created once {kind} {name} exists and is ready; see its `kubectl describe`")
        });
    }
    let source = ObjectKey::namespaced(namespace.as_ref().unwrap_or(&key.namespace), name);
    let Some(found) = snapshot.claims.get(&source) else {
        return Some(format!(
            "claim {key} is a clone of claim {source}, which does not exist; create the source claim, or recreate the clone without dataSource"
        ));
    };
    let Some(volume) = found.volume.as_ref().and_then(|name| snapshot.volume(name)) else {
        return Some(format!(
            "claim {key} is a clone of claim {source}, which is not bound yet: the clone waits until the source is bound"
        ));
    };
    let is_inaccessible = |node: &&Arc<Node>| !volume.admits(&node.labels);
    let inaccessible: Vec<&str> = snapshot
        .nodes
        .iter()
        .filter(is_inaccessible)
        .map(|node| node.name())
        .collect();
    (pod.node.is_none() && !inaccessible.is_empty()).then(|| {
        format!(
            "claim {key} is a clone of claim {source}, whose volume {} is not accessible from node {}; the scheduler does not check this, \
             and a driver that clones only within a topology segment fails there: restrict the pod to the nodes of that volume",
            volume.key,
            first_names(&inaccessible, LISTED_MAX)
        )
    })
}

/// Why the driver of a StorageClass cannot provision volumes.
fn driver_causes(snapshot: &Snapshot, class: &Arc<Class>) -> Vec<String> {
    let driver = driver_of(&class.provisioner);
    // A dump that contains no CSINodes has no information about registered drivers.
    if snapshot.csi_nodes.is_empty() {
        return Vec::new();
    }
    let registered: Vec<_> = snapshot
        .csi_nodes
        .iter()
        .filter_map(|csi_node| Some((csi_node, csi_node.driver(driver)?)))
        .collect();
    // A driver for network storage may have no node plugin, but a driver that tracks capacity by node has one.
    let is_csi = snapshot.driver(driver).is_some();
    if registered.is_empty() {
        return match is_csi {
            true => vec![format!(
                "no CSINode lists driver {driver}: it is registered on no node, so no volumes are created and no capacity is published; \
                 check the pods of its node plugin, and see the log of their node-driver-registrar"
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
                "node {} has no label {key}, although its CSINode lists that topology key of driver {driver}, so its topology segment is unknown; \
                 restart the driver's pod there, so that the kubelet sets the label again",
                first_names(&lacking, LISTED_MAX)
            ));
        }
    }
    causes
}
