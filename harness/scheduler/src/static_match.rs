//! Static binding: which existing PersistentVolume is chosen for an unbound PVC on a node.
//!
//! Follows kube-scheduler's `FindMatchingVolume`. The caller passes the volumes of the class.

use std::collections::BTreeSet;
use std::sync::Arc;

use capacity_types::Labels;

use crate::objects::{Claim, ObjectKey, Volume};

/// The PersistentVolumes that match a PVC on any node, regardless of the pod's other PVCs.
#[derive(Clone, Debug, Default)]
pub struct MatchingVolumes {
    /// Volumes whose `claimRef` is the PVC, by name.
    reserved: Vec<Arc<Volume>>,
    /// Volumes without `claimRef`, by ascending size, then by name.
    free: Vec<Arc<Volume>>,
}

impl MatchingVolumes {
    /// Selects the PersistentVolumes that match a PVC. `volumes` are those of the PVC's class, sorted by name.
    pub(crate) fn find<'a>(claim: &Claim, volumes: impl Iterator<Item = &'a Arc<Volume>>) -> Self {
        let mut matching = Self::default();
        for volume in volumes.filter(|volume| is_eligible(claim, volume)) {
            if volume.is_bound_to(claim) {
                matching.reserved.push(Arc::clone(volume));
            } else if is_available(claim, volume) {
                matching.free.push(Arc::clone(volume));
            }
        }
        matching.free.sort_by_key(|volume| size(volume));
        matching
    }

    /// The PersistentVolume to bind on a node with these labels: the volume reserved for the PVC, else the smallest accessible free volume.
    /// `taken`: volumes already chosen for other PVCs of the pod.
    pub(crate) fn choose(&self, taken: &BTreeSet<&ObjectKey>, labels: &Labels) -> Option<&Arc<Volume>> {
        let is_unused = |volume: &&Arc<Volume>| !taken.contains(&volume.key);
        if let Some(reserved) = self.reserved.iter().find(is_unused) {
            // If the reserved volume is not accessible from the node, no other volume may be bound.
            return Some(reserved).filter(|volume| volume.admits(labels));
        }
        self.free
            .iter()
            .filter(is_unused)
            .find(|volume| volume.admits(labels))
    }
}

/// Whether a volume meets the conditions for reserved and free volumes: no other `claimRef`, size, mode, attributes class, not deleted.
fn is_eligible(claim: &Claim, volume: &Volume) -> bool {
    let reserved_for_another = volume.claim.is_some() && !volume.is_bound_to(claim);
    !reserved_for_another
        && size(volume) >= claim.request.map_or(0, |request| request.nanos())
        && volume.volume_mode == claim.volume_mode
        && volume.attributes_class == claim.attributes_class
        && !volume.deleting
}

/// Whether a volume without `claimRef` meets the conditions for free volumes: phase, selector and access modes.
fn is_available(claim: &Claim, volume: &Volume) -> bool {
    let selected = claim
        .selector
        .as_ref()
        .is_ok_and(|selector| selector.matches(&volume.labels));
    let is_supported = |mode: &String| volume.access_modes.contains(mode);
    volume.available && selected && claim.access_modes.iter().all(is_supported)
}

/// The capacity as an exact quantity, not rounded to whole bytes.
fn size(volume: &Volume) -> i128 {
    volume.capacity.map_or(0, |capacity| capacity.nanos())
}
