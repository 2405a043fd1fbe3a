//! Which existing volume suits an unbound claim on a node (static binding).
//!
//! Follows `FindMatchingVolume` of kube-scheduler. Volumes come in by class; provisioning is the filter's next step.

use std::collections::BTreeSet;
use std::sync::Arc;

use capacity_types::Labels;

use crate::objects::{Claim, ObjectKey, Volume};

/// The volumes that suit a claim, wherever they are and whatever other claims of the pod take.
#[derive(Clone, Debug, Default)]
pub struct Suitable {
    /// Reserved for the claim, in the order of their names.
    reserved: Vec<Arc<Volume>>,
    /// Free, the smallest first, in the order of their names among equals.
    free: Vec<Arc<Volume>>,
}

impl Suitable {
    /// Looks through the volumes of the claim's class, which come in the order of their names.
    pub(crate) fn find<'a>(claim: &Claim, volumes: impl Iterator<Item = &'a Arc<Volume>>) -> Self {
        let mut suitable = Self::default();
        for volume in volumes.filter(|volume| is_eligible(claim, volume)) {
            if volume.is_bound_to(claim) {
                suitable.reserved.push(Arc::clone(volume));
            } else if is_available(claim, volume) {
                suitable.free.push(Arc::clone(volume));
            }
        }
        suitable.free.sort_by_key(|volume| size(volume));
        suitable
    }

    /// The volume to bind on a node with these labels: one reserved for the claim wins at once, else the smallest that
    /// the node reaches. Volumes in `taken` went to other claims of the pod.
    pub(crate) fn on(&self, taken: &BTreeSet<&ObjectKey>, labels: &Labels) -> Option<&Arc<Volume>> {
        let is_left = |volume: &&Arc<Volume>| !taken.contains(&volume.key);
        if let Some(reserved) = self.reserved.iter().find(is_left) {
            // A reserved volume that the node cannot reach leaves the claim without any.
            return Some(reserved).filter(|volume| volume.admits(labels));
        }
        self.free
            .iter()
            .filter(is_left)
            .find(|volume| volume.admits(labels))
    }
}

/// What holds for reserved and free volumes alike.
fn is_eligible(claim: &Claim, volume: &Volume) -> bool {
    let reserved_for_another = volume.claim.is_some() && !volume.is_bound_to(claim);
    !reserved_for_another
        && size(volume) >= claim.request.map_or(0, |request| request.nanos())
        && volume.volume_mode == claim.volume_mode
        && volume.attributes_class == claim.attributes_class
        && !volume.deleting
}

/// What only free volumes have to meet.
fn is_available(claim: &Claim, volume: &Volume) -> bool {
    let selected = claim
        .selector
        .as_ref()
        .is_ok_and(|selector| selector.matches(&volume.labels));
    let offered = |mode: &String| volume.access_modes.contains(mode);
    volume.available && selected && claim.access_modes.iter().all(offered)
}

/// Compared exactly, not in whole bytes.
fn size(volume: &Volume) -> i128 {
    volume.capacity.map_or(0, |capacity| capacity.nanos())
}
