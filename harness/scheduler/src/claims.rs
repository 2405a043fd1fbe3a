//! The claims of a pod, sorted into what the filter has to do with them (PreFilter).
//!
//! Runs once per attempt. Nothing here depends on a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::objects::{Claim, ObjectKey, Pod, PodVolume, Volume};
use crate::snapshot::Snapshot;

/// The claims of one pod.
#[derive(Clone, Debug, Default)]
pub struct PodClaims {
    /// Bound for good: only their volumes' affinity counts.
    pub bound: Vec<Arc<Claim>>,
    /// Unbound with a WaitForFirstConsumer class, in the order of the pod. Only for these capacity matters.
    pub delayed: Vec<Arc<Claim>>,
    /// The volumes of the delayed claims' classes, in the order of their names.
    pub volumes: BTreeMap<String, Vec<Arc<Volume>>>,
}

impl PodClaims {
    /// Whether the pod has no claim at all.
    pub fn is_empty(&self) -> bool {
        self.bound.is_empty() && self.delayed.is_empty()
    }
}

/// Why a pod fits no node, whatever the nodes are. The wording is kube-scheduler's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unready {
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

/// Sorts the claims of a pod, or tells why it cannot be placed anywhere.
pub fn classify(snapshot: &Snapshot, pod: &Pod) -> Result<PodClaims, Unready> {
    let found: Result<Vec<_>, _> = pod
        .volumes
        .iter()
        .map(|volume| usable_claim(snapshot, pod, volume))
        .collect();
    let mut claims = PodClaims::default();
    for claim in found? {
        if claim.is_fully_bound() {
            claims.bound.push(claim);
        } else if claim.volume.is_none() && is_delayed(snapshot, &claim) {
            claims.delayed.push(claim);
        } else {
            return Err(Unready::UnboundImmediate);
        }
    }
    for claim in &claims.delayed {
        let volumes = claims.volumes.entry(claim.class.clone());
        volumes.or_insert_with(|| volumes_of_class(snapshot, &claim.class));
    }
    Ok(claims)
}

/// A class object that does not exist makes its claims immediate ones.
fn is_delayed(snapshot: &Snapshot, claim: &Claim) -> bool {
    snapshot.class(&claim.class).is_some_and(|class| class.delayed)
}

fn volumes_of_class(snapshot: &Snapshot, class: &str) -> Vec<Arc<Volume>> {
    let of_class = snapshot.volumes.iter().filter(|volume| volume.class == class);
    of_class.cloned().collect()
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
