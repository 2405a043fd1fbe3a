//! The claims of a pod, sorted into what the filter has to do with them (PreFilter).
//!
//! Runs once per attempt. Nothing here depends on a node.

use std::sync::Arc;

use capacity_types::Quantity;

use crate::capacity_check::Demand;
use crate::objects::{Claim, Class, ObjectKey, Pod, PodVolume};
use crate::rules::Rules;
use crate::snapshot::Snapshot;
use crate::static_match::Suitable;

/// The claims of one pod.
#[derive(Clone, Debug, Default)]
pub struct PodClaims {
    /// Bound for good: only their volumes' affinity counts.
    pub bound: Vec<Arc<Claim>>,
    /// Delayed claims for which an earlier attempt selected a node, in the order of the pod.
    pub selected: Vec<Delayed>,
    /// The other delayed claims, the smallest first so that they do not take the large volumes; equals keep the order of
    /// the pod.
    pub open: Vec<Delayed>,
}

/// A claim that is unbound and has a WaitForFirstConsumer class: only for these capacity matters.
#[derive(Clone, Debug)]
pub struct Delayed {
    /// The claim.
    pub claim: Arc<Claim>,
    /// Its class.
    pub class: Arc<Class>,
    /// What a node's capacity objects must meet.
    pub demand: Demand,
    /// The existing volumes that suit it, wherever they are.
    pub suitable: Suitable,
}

impl PodClaims {
    /// Whether the pod has no claim at all.
    pub fn is_empty(&self) -> bool {
        self.bound.is_empty() && self.selected.is_empty() && self.open.is_empty()
    }
}

/// Why a pod fits no node, whatever the nodes are. The wording is kube-scheduler's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unready {
    /// Each term of its node affinity names several nodes at once.
    #[error("pod affinity terms conflict")]
    AffinityConflict,
    /// A claim does not exist.
    #[error("persistentvolumeclaim \"{0}\" not found")]
    Missing(String),
    /// The claim of a generic ephemeral volume does not exist yet.
    #[error("waiting for ephemeral volume controller to create the persistentvolumeclaim \"{0}\"")]
    NotYetCreated(String),
    /// A claim lost its volume.
    #[error("persistentvolumeclaim \"{claim}\" bound to non-existent persistentvolume \"{volume}\"")]
    Lost {
        /// The claim's name.
        claim: String,
        /// The volume that is gone.
        volume: String,
    },
    /// A bound claim's volume does not exist (VolumeZone says so before any node is looked at).
    #[error("persistentvolume \"{0}\" not found")]
    VolumeMissing(String),
    /// A claim is being deleted.
    #[error("persistentvolumeclaim \"{0}\" is being deleted")]
    Deleting(String),
    /// A claim has the name of an ephemeral one, but another owner.
    #[error("PVC {claim} was not created for pod {pod} (pod is not owner)")]
    NotOwned {
        /// The claim.
        claim: ObjectKey,
        /// The pod.
        pod: ObjectKey,
    },
    /// A claim is neither bound nor waiting for a consumer, so scheduling cannot help it.
    #[error("pod has unbound immediate PersistentVolumeClaims")]
    UnboundImmediate,
}

/// Sorts the claims of a pod, or says why it cannot be placed on any node.
pub fn classify(snapshot: &Snapshot, rules: &Rules, pod: &Pod) -> Result<PodClaims, Unready> {
    let affinity = pod.affinity.as_ref();
    let named_nodes = affinity.and_then(|affinity| affinity.named_nodes());
    if named_nodes.is_some_and(|names| names.is_empty()) {
        return Err(Unready::AffinityConflict);
    }
    // VolumeRestrictions looks for the claims that the pod names, before VolumeBinding looks at all.
    let named = pod.volumes.iter().filter(|volume| !volume.ephemeral);
    if let Some(missing) = named
        .clone()
        .find(|volume| snapshot.claims.get(&volume.claim).is_none())
    {
        return Err(Unready::Missing(missing.claim.name.clone()));
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
        let Some(class) = delaying_class(snapshot, &claim) else {
            return Err(Unready::UnboundImmediate);
        };
        let delayed = Delayed {
            demand: Demand::of(snapshot, rules, &claim, class),
            class: Arc::clone(class),
            suitable: Suitable::default(),
            claim,
        };
        if delayed.claim.selected_node.is_some() {
            claims.selected.push(delayed);
        } else {
            claims.open.push(delayed);
        }
    }
    if rules.form.knows_volume_zone()
        && let Some(missing) = claims
            .bound
            .iter()
            .find_map(|claim| missing_volume(snapshot, claim))
    {
        return Err(Unready::VolumeMissing(missing.to_owned()));
    }
    claims
        .open
        .sort_by_key(|delayed| delayed.claim.request.map_or(0, Quantity::nanos));
    for Delayed { claim, suitable, .. } in &mut claims.open {
        *suitable = Suitable::find(claim, snapshot.volumes.open_to(claim));
    }
    Ok(claims)
}

/// The volume that a claim names and that does not exist.
fn missing_volume<'c>(snapshot: &Snapshot, claim: &'c Claim) -> Option<&'c str> {
    let volume = claim.volume.as_deref();
    volume.filter(|name| snapshot.volume(name).is_none())
}

/// The class for which an unbound claim waits for its first consumer. A class object that does not exist makes its
/// claims immediate ones.
fn delaying_class<'a>(snapshot: &'a Snapshot, claim: &Claim) -> Option<&'a Arc<Class>> {
    if claim.volume.is_some() {
        return None;
    }
    snapshot.class(&claim.class).filter(|class| class.delayed)
}

fn usable_claim(snapshot: &Snapshot, pod: &Pod, volume: &PodVolume) -> Result<Arc<Claim>, Unready> {
    let name = || volume.claim.name.clone();
    let Some(claim) = snapshot.claims.get(&volume.claim) else {
        let missing = if volume.ephemeral {
            Unready::NotYetCreated
        } else {
            Unready::Missing
        };
        return Err(missing(name()));
    };
    if claim.lost {
        let volume = claim.volume.clone().unwrap_or_default();
        return Err(Unready::Lost {
            claim: name(),
            volume,
        });
    }
    if claim.deleting {
        return Err(Unready::Deleting(name()));
    }
    if volume.ephemeral && claim.controller.as_ref() != Some(&pod.uid) {
        return Err(Unready::NotOwned {
            claim: claim.key.clone(),
            pod: pod.key.clone(),
        });
    }
    Ok(Arc::clone(claim))
}
