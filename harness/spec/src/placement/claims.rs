//! The PVCs of a pod: PVCs that are bound, and PVCs that must be bound on the pod's node.

use std::fmt;

use crate::world::{Claim, NamespacedName, Pod, PodVolume, VolumeBindingMode, World};

pub(super) type NamedClaim<'w> = (&'w str, &'w Claim);

/// The PVCs of a pod, if none of them rules out every node.
pub(super) struct Claims<'w> {
    pub(super) bound: Vec<NamedClaim<'w>>,
    /// PVCs that must be bound on the pod's node, in the order of the pod's volumes.
    pub(super) delayed: Vec<NamedClaim<'w>>,
}

/// Why a pod fits on no node, whatever the nodes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodRejection {
    /// The pod does not exist.
    NoPod,
    /// The PVC with this name does not exist.
    ClaimMissing(String),
    /// The PVC is being deleted, or its PersistentVolume was deleted.
    ClaimTerminating(String),
    /// The PVC has the name of an ephemeral PVC, but the pod does not own it.
    ClaimNotOwned(String),
    /// The PVC has Immediate binding and is not bound yet.
    ClaimUnbound(String),
}

impl fmt::Display for PodRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PodRejection::NoPod => write!(f, "the pod does not exist"),
            PodRejection::ClaimMissing(name) => write!(f, "claim {name} does not exist"),
            PodRejection::ClaimTerminating(name) => {
                write!(f, "claim {name} is being deleted, or its volume was deleted")
            }
            PodRejection::ClaimNotOwned(name) => write!(f, "claim {name} was not created for the pod"),
            PodRejection::ClaimUnbound(name) => {
                write!(f, "claim {name} (Immediate binding) is not bound yet")
            }
        }
    }
}

/// The PVCs of a pod, or the first reason why the pod fits on no node.
pub(super) fn claims_of_pod<'w>(
    world: &'w World,
    namespace: &str,
    pod: &'w Pod,
) -> Result<Claims<'w>, PodRejection> {
    let mut claims = Claims {
        bound: Vec::new(),
        delayed: Vec::new(),
    };
    for volume in &pod.volumes {
        let (name, is_own) = match volume {
            PodVolume::Claim(name) => (name, false),
            PodVolume::Ephemeral(name) => (name, true),
            PodVolume::Inline(_) => continue,
        };
        let key = NamespacedName::new(namespace, name);
        let claim = world
            .claims
            .get(&key)
            .ok_or_else(|| PodRejection::ClaimMissing(name.clone()))?;
        if claim.is_lost || claim.is_deleted {
            return Err(PodRejection::ClaimTerminating(name.clone()));
        }
        if is_own && !claim.owners.iter().any(|it| it.controller && it.uid == pod.uid) {
            return Err(PodRejection::ClaimNotOwned(name.clone()));
        }
        match (claim.volume.is_empty(), claim.is_bound) {
            (false, true) => claims.bound.push((name, claim)),
            (true, _) if waits_for_pod(world, claim) => claims.delayed.push((name, claim)),
            _ => return Err(PodRejection::ClaimUnbound(name.clone())),
        }
    }
    Ok(claims)
}

fn waits_for_pod(world: &World, claim: &Claim) -> bool {
    let class = world.classes.get(&claim.class);
    class.is_some_and(|class| class.binding == VolumeBindingMode::WaitForFirstConsumer)
}
