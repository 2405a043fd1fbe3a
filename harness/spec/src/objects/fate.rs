//! Objects without a running publisher: garbage collection, and the cleaner (KEP-1472, lifecycle of objects).

use crate::rules::{self, Rule};
use crate::world::{CapacityObject, NamespacedName, Owner, World};

/// What must happen to an object without a running publisher.
pub(super) enum Fate {
    /// No program may change it.
    Retained,
    /// It must be deleted, by this rule.
    MustBeDeleted(&'static Rule),
    /// It may be deleted or retained.
    Optional,
}

pub(super) fn fate(world: &World, key: &NamespacedName, object: &CapacityObject) -> Fate {
    if lost_all_owners(world, object) {
        return Fate::MustBeDeleted(rules::OUTLIVES_OWNER);
    }
    let Some(cleaner) = &world.cleaner else {
        return Fate::Retained;
    };
    let Some(node) = cleaner.node_of(key, object) else {
        return Fate::Retained;
    };
    let csi_node = world
        .csi_nodes
        .get(node)
        .filter(|_| world.nodes.contains_key(node));
    if csi_node.is_some_and(|it| it.drivers.contains_key(&cleaner.driver)) {
        return Fate::Retained;
    }
    if cleaner.waiting.contains(node) || cleaner.may_be_of_long_node(world, object) {
        return Fate::Optional;
    }
    Fate::MustBeDeleted(rules::ORPHANED)
}

/// Whether all owners of the object were deleted.
pub(super) fn lost_all_owners(world: &World, object: &CapacityObject) -> bool {
    let is_deleted = |owner: &Owner| world.deleted_owners.contains(&owner.uid);
    !object.owners.is_empty() && object.owners.iter().all(is_deleted)
}
