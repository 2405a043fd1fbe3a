//! Objects without a running publisher: whether the garbage collector or the cleaner must delete them (KEP-1472, lifecycle of objects).

use crate::rules::{self, Rule};
use crate::world::{CapacityObject, NamespacedName, Owner, World};

/// What must happen to an object without a running publisher.
pub(super) enum Cleanup {
    /// No program may change the object.
    Retained,
    /// The object must be deleted. Contains the rule that is violated if the object still exists.
    MustBeDeleted(&'static Rule),
    Optional,
}

pub(super) fn required_cleanup(world: &World, key: &NamespacedName, object: &CapacityObject) -> Cleanup {
    if lost_all_owners(world, object) {
        return Cleanup::MustBeDeleted(rules::OUTLIVES_OWNER);
    }
    let Some(cleaner) = &world.cleaner else {
        return Cleanup::Retained;
    };
    let Some(node) = cleaner.node_of(key, object) else {
        return Cleanup::Retained;
    };
    let csi_node = world
        .csi_nodes
        .get(node)
        .filter(|_| world.nodes.contains_key(node));
    if csi_node.is_some_and(|it| it.drivers.contains_key(&cleaner.driver)) {
        return Cleanup::Retained;
    }
    if cleaner.waiting.contains(node) || cleaner.may_be_of_long_node(world, object) {
        return Cleanup::Optional;
    }
    Cleanup::MustBeDeleted(rules::ORPHANED)
}

/// Whether the object has owners and all of them were deleted.
pub(super) fn lost_all_owners(world: &World, object: &CapacityObject) -> bool {
    let is_deleted = |owner: &Owner| world.deleted_owners.contains(&owner.uid);
    !object.owners.is_empty() && object.owners.iter().all(is_deleted)
}
