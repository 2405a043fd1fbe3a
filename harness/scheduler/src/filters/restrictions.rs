//! The filter VolumeRestrictions: volumes that only one pod may use, which are disks of a node and PVCs with access mode ReadWriteOncePod.

use crate::node_pods::NodeInfo;
use crate::objects::{Disk, ObjectKey, Pod};
use crate::snapshot::Snapshot;

const READ_WRITE_ONCE_POD: &str = "ReadWriteOncePod";

/// The PVCs of the pod with access mode ReadWriteOncePod.
pub(super) fn exclusive_claims<'a>(snapshot: &Snapshot, pod: &'a Pod) -> Vec<&'a ObjectKey> {
    let named = pod.volumes.iter().filter(|volume| !volume.ephemeral);
    let is_exclusive = |claim: &&ObjectKey| {
        let claim = snapshot.claims.get(claim);
        claim.is_some_and(|claim| claim.access_modes.iter().any(|mode| mode == READ_WRITE_ONCE_POD))
    };
    let mut claims: Vec<_> = named.map(|volume| &volume.claim).filter(is_exclusive).collect();
    claims.sort();
    claims.dedup();
    claims
}

/// A disk of the pod that conflicts with a disk of another pod on the node.
pub(super) fn disk_in_use<'p>(pod: &'p Pod, info: &NodeInfo) -> Option<&'p Disk> {
    let in_use = |disk: &&Disk| {
        let mut others = info.pods.iter().flat_map(|other| &other.disks);
        others.any(|other| disk.conflicts_with(other))
    };
    pod.disks.iter().find(in_use)
}
