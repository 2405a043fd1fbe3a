//! Classifies the PVCs of a pod by how the VolumeBinding filter handles them (PreFilter).
//!
//! Runs once per scheduling attempt, since the result does not depend on the node.

use std::sync::Arc;

use capacity_types::Quantity;

use crate::capacity_check::Demand;
use crate::objects::{Claim, Class, ObjectKey, Pod, PodVolume};
use crate::rules::Rules;
use crate::snapshot::Snapshot;
use crate::static_match::MatchingVolumes;

/// The PVCs of one pod.
#[derive(Clone, Debug, Default)]
pub struct PodClaims {
    /// PVCs that are bound completely: only the node affinity of their PersistentVolumes is checked.
    pub bound: Vec<Arc<Claim>>,
    /// Unbound PVCs whose node was selected in an earlier attempt, in pod order.
    pub to_provision: Vec<DelayedClaim>,
    /// Unbound PVCs without a selected node, by ascending size, so that small PVCs do not use up the large PersistentVolumes. PVCs of equal
    /// size keep the pod order.
    pub to_match: Vec<DelayedClaim>,
}

/// An unbound PVC of a WaitForFirstConsumer class. Only such PVCs are checked against capacity objects.
#[derive(Clone, Debug)]
pub struct DelayedClaim {
    /// The unbound PVC.
    pub claim: Arc<Claim>,
    /// The StorageClass of the PVC.
    pub class: Arc<Class>,
    /// The capacity check that the PVC needs.
    pub demand: Demand,
    /// Existing PersistentVolumes that match the PVC on some node.
    pub matching: MatchingVolumes,
}

impl PodClaims {
    /// Whether the pod uses no PVC.
    pub fn is_empty(&self) -> bool {
        self.bound.is_empty() && self.to_provision.is_empty() && self.to_match.is_empty()
    }
}

/// Why the pod fits no node, for a reason that does not depend on the node. The wording is kube-scheduler's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreFilterReason {
    /// Each node affinity term requires several different node names.
    #[error("pod affinity terms conflict")]
    AffinityConflict,
    /// A PVC does not exist.
    #[error("persistentvolumeclaim \"{0}\" not found")]
    Missing(String),
    /// The PVC of a generic ephemeral volume does not exist yet.
    #[error("waiting for ephemeral volume controller to create the persistentvolumeclaim \"{0}\"")]
    NotYetCreated(String),
    /// The PersistentVolume of a PVC was deleted (`status.phase: Lost`).
    #[error("persistentvolumeclaim \"{claim}\" bound to non-existent persistentvolume \"{volume}\"")]
    Lost {
        /// Name of the PVC whose PersistentVolume was deleted.
        claim: String,
        /// The name of the deleted PersistentVolume.
        volume: String,
    },
    /// The PersistentVolume of a bound PVC does not exist (VolumeZone's PreFilter).
    #[error("persistentvolume \"{0}\" not found")]
    VolumeMissing(String),
    /// A PVC is being deleted.
    #[error("persistentvolumeclaim \"{0}\" is being deleted")]
    Deleting(String),
    /// A PVC has the name of the pod's ephemeral PVC but is not owned by the pod.
    #[error("PVC {claim} was not created for pod {pod} (pod is not owner)")]
    NotOwned {
        /// Key of the PVC.
        claim: ObjectKey,
        /// Key of the pod.
        pod: ObjectKey,
    },
    /// A PVC of a class with Immediate binding is unbound. The scheduler does not bind such PVCs.
    #[error("pod has unbound immediate PersistentVolumeClaims")]
    UnboundImmediate,
}

/// Classifies the PVCs of a pod. The error is the reason why the pod fits no node.
pub fn classify(snapshot: &Snapshot, rules: &Rules, pod: &Pod) -> Result<PodClaims, PreFilterReason> {
    let affinity = pod.affinity.as_ref();
    let named_nodes = affinity.and_then(|affinity| affinity.named_nodes());
    if named_nodes.is_some_and(|names| names.is_empty()) {
        return Err(PreFilterReason::AffinityConflict);
    }
    // kube-scheduler's plugin VolumeRestrictions looks up the PVCs of the pod before VolumeBinding does.
    let named = pod.volumes.iter().filter(|volume| !volume.ephemeral);
    if let Some(missing) = named
        .clone()
        .find(|volume| snapshot.claims.get(&volume.claim).is_none())
    {
        return Err(PreFilterReason::Missing(missing.claim.name.clone()));
    }
    let found: Result<Vec<_>, _> = pod
        .volumes
        .iter()
        .map(|volume| usable_claim(snapshot, pod, volume))
        .collect();
    let mut claims = PodClaims::default();
    for claim in found? {
        if claim.is_fully_bound() {
            claims.bound.push(claim);
            continue;
        }
        let Some(class) = wait_for_first_consumer_class(snapshot, &claim) else {
            return Err(PreFilterReason::UnboundImmediate);
        };
        let delayed = DelayedClaim {
            demand: Demand::of(snapshot, rules, &claim, class),
            class: Arc::clone(class),
            matching: MatchingVolumes::default(),
            claim,
        };
        if delayed.claim.selected_node.is_some() {
            claims.to_provision.push(delayed);
        } else {
            claims.to_match.push(delayed);
        }
    }
    if rules.wording.has_volume_zone_pre_filter()
        && let Some(missing) = claims
            .bound
            .iter()
            .find_map(|claim| missing_volume(snapshot, claim))
    {
        return Err(PreFilterReason::VolumeMissing(missing.to_owned()));
    }
    claims
        .to_match
        .sort_by_key(|delayed| delayed.claim.request.map_or(0, Quantity::nanos));
    for DelayedClaim { claim, matching, .. } in &mut claims.to_match {
        *matching = MatchingVolumes::find(claim, snapshot.volumes.candidates_for(claim));
    }
    Ok(claims)
}

/// The name of the PersistentVolume that a PVC refers to, if that volume does not exist.
fn missing_volume<'c>(snapshot: &Snapshot, claim: &'c Claim) -> Option<&'c str> {
    let volume = claim.volume.as_deref();
    volume.filter(|name| snapshot.volume(name).is_none())
}

/// The class of an unbound PVC if it is WaitForFirstConsumer. A class that does not exist counts as Immediate.
fn wait_for_first_consumer_class<'a>(snapshot: &'a Snapshot, claim: &Claim) -> Option<&'a Arc<Class>> {
    if claim.volume.is_some() {
        return None;
    }
    snapshot.class(&claim.class).filter(|class| class.delayed)
}

fn usable_claim(snapshot: &Snapshot, pod: &Pod, volume: &PodVolume) -> Result<Arc<Claim>, PreFilterReason> {
    let name = || volume.claim.name.clone();
    let Some(claim) = snapshot.claims.get(&volume.claim) else {
        let missing = if volume.ephemeral {
            PreFilterReason::NotYetCreated
        } else {
            PreFilterReason::Missing
        };
        return Err(missing(name()));
    };
    if claim.lost {
        let volume = claim.volume.clone().unwrap_or_default();
        return Err(PreFilterReason::Lost {
            claim: name(),
            volume,
        });
    }
    if claim.deleting {
        return Err(PreFilterReason::Deleting(name()));
    }
    if volume.ephemeral && claim.controller.as_ref() != Some(&pod.uid) {
        return Err(PreFilterReason::NotOwned {
            claim: claim.key.clone(),
            pod: pod.key.clone(),
        });
    }
    Ok(Arc::clone(claim))
}
