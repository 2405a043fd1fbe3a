//! Drivers that have unregistered from a node and may register again soon.
//!
//! A driver is not registered for a moment while it restarts. Each publisher has its own grace period, so until the driver registers again,
//! the publisher may act as if it were still registered. Does not know which objects must be deleted at quiescence.

use std::collections::BTreeMap;

use crate::world::{Change, CsiNode, World};

/// Unregistered drivers with their last registration, by name of the CSINode.
#[derive(Default)]
pub(super) struct UnregisteredDrivers {
    unregistered: BTreeMap<String, CsiNode>,
    /// Driver registrations that ended permanently since the last quiescence: the CSINode was deleted, or the driver registered with other
    /// topology keys. A publisher may not have received the change of the CSINode yet.
    ended: BTreeMap<String, CsiNode>,
}

impl UnregisteredDrivers {
    /// Records a change of the cluster. Called before the change is applied to `world`.
    pub(super) fn record_change(&mut self, world: &World, change: &Change) {
        let Change::CsiNode(name, after) = change else {
            return;
        };
        // A CSINode is deleted together with its node.
        let (Some(before), Some(after)) = (world.csi_nodes.get(name), after) else {
            self.ended.extend(self.unregistered.remove_entry(name));
            return;
        };
        let known = self.unregistered.remove(name).unwrap_or_default();
        let mut missing = CsiNode {
            drivers: known.drivers.into_iter().chain(before.drivers.clone()).collect(),
        };
        for (driver, registered) in &after.drivers {
            let was = missing.drivers.remove(driver).filter(|was| was != registered);
            if let Some(was) = was.filter(|_| !before.drivers.contains_key(driver)) {
                let ended = self.ended.entry(name.clone()).or_default();
                ended.drivers.insert(driver.clone(), was);
            }
        }
        if !missing.drivers.is_empty() {
            self.unregistered.insert(name.clone(), missing);
        }
    }

    /// Called at quiescence: drops the driver registrations that ended permanently.
    pub(super) fn on_quiescence(&mut self) {
        self.ended.clear();
    }

    /// Whether a predicate holds for the state of the cluster, or for the state in which all recently unregistered drivers are still
    /// registered.
    pub(super) fn holds_with_or_without_unregistered(
        &self,
        world: &World,
        is_so: impl Fn(&World) -> bool,
    ) -> bool {
        let has_none = self.unregistered.is_empty() && self.ended.is_empty();
        is_so(world) || (!has_none && is_so(&self.with_all_registered(world)))
    }

    fn with_all_registered(&self, world: &World) -> World {
        let mut world = world.clone();
        for (name, missing) in self.ended.iter().chain(&self.unregistered) {
            let node = world.csi_nodes.entry(name.clone()).or_default();
            node.drivers.extend(missing.drivers.clone());
        }
        world
    }
}
