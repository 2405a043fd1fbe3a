//! Whether a volume can be provisioned for a node: class, allowed topologies, and capacity (KEP-1472, "Using capacity information").

use super::claims::NamedClaim;
use super::indexed_world::IndexedWorld;
use super::reason::Reason;
use crate::world::capacity::bytes;
use crate::world::{Api, CapacityObject, Claim, Node, StorageClass};

/// Why the scheduler considers that a volume can be provisioned.
pub(super) enum Provisionable<'w> {
    /// The driver does not track capacity, so the scheduler compares no capacity.
    Untracked,
    /// Each of these CSIStorageCapacity objects is large enough.
    WithCapacity(Vec<&'w CapacityObject>),
}

/// Whether a volume can be provisioned for a PVC on a node. Returns the reason if not.
pub(super) fn check_provisionable<'w>(
    indexed: &IndexedWorld<'w>,
    (name, claim): NamedClaim<'w>,
    node: &Node,
) -> Result<Provisionable<'w>, Reason> {
    let class = indexed.world.classes.get(&claim.class);
    let Some(class) = class.filter(|class| class.can_provision()) else {
        return Err(Reason::NoProvisioner(name.to_owned()));
    };
    if !class.allows(&node.labels) {
        return Err(Reason::NotAllowed(name.to_owned()));
    }
    if !is_capacity_checked(indexed, class) {
        return Ok(Provisionable::Untracked);
    }
    let Some(request) = claim.request else {
        return Ok(Provisionable::Untracked);
    };
    let has_maximum = indexed.world.scheduler.release.has_maximum() && returns_maximum(indexed.world.api);
    let is_enough = |object: &&CapacityObject| {
        object
            .largest_volume(has_maximum)
            .is_some_and(|limit| limit >= bytes(request))
    };
    // Each PVC is compared separately with the full capacity of each object, whatever the pod's other PVCs request.
    let enough: Vec<_> = indexed.objects(&claim.class, node).filter(is_enough).collect();
    match enough.is_empty() {
        true => Err(Reason::NotEnoughCapacity(name.to_owned())),
        false => Ok(Provisionable::WithCapacity(enough)),
    }
}

/// Whether the API server returns a stored `maximumVolumeSize`, which v1alpha1 does not. If CSIStorageCapacity is not served, the scheduler
/// uses the objects that it received last.
fn returns_maximum(api: Api) -> bool {
    api.release.has_maximum() || api.version().is_none()
}

fn is_capacity_checked(indexed: &IndexedWorld<'_>, class: &StorageClass) -> bool {
    let driver = indexed.world.csi_drivers.get(&class.provisioner);
    indexed.world.scheduler.checks_capacity() && driver.is_some_and(|driver| driver.storage_capacity)
}

/// The drivers that must provision volumes for these PVCs.
pub(super) fn drivers<'w>(indexed: &IndexedWorld<'w>, claims: &[(&str, &Claim)]) -> Vec<&'w str> {
    let classes = claims
        .iter()
        .filter_map(|(_, claim)| indexed.world.classes.get(&claim.class));
    classes.map(|class| class.provisioner.as_str()).collect()
}
