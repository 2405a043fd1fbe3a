//! Which existing volume suits an unbound claim on a node (static binding)?
//!
//! Follows `FindMatchingVolume` of kube-scheduler. Volumes come in by class; provisioning is the filter's next step.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::objects::{Claim, ObjectKey, Volume};
use crate::requirement::Labels;

/// The volume to bind: one reserved for the claim wins at once, else the smallest that suits, the first by name among
/// equals. Volumes in `taken` went to other claims of the pod.
pub(crate) fn find<'a>(
    claim: &Claim,
    volumes: &'a [Arc<Volume>],
    taken: &BTreeSet<&ObjectKey>,
    labels: &Labels,
) -> Option<&'a Arc<Volume>> {
    let eligible = |volume: &&Arc<Volume>| !taken.contains(&volume.key) && is_eligible(claim, volume);
    if let Some(reserved) = volumes
        .iter()
        .filter(eligible)
        .find(|volume| volume.is_bound_to(claim))
    {
        // A reserved volume that the node cannot reach leaves the claim without any.
        return Some(reserved).filter(|volume| volume.admits(labels));
    }
    let free = volumes.iter().filter(eligible);
    free.filter(|volume| is_available(claim, volume) && volume.admits(labels))
        .min_by_key(|volume| size(volume))
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
    volume.available && selected && volume.class == claim.class && claim.access_modes.iter().all(offered)
}

/// Compared exactly, not in whole bytes.
fn size(volume: &Volume) -> i128 {
    volume.capacity.map_or(0, |capacity| capacity.nanos())
}
