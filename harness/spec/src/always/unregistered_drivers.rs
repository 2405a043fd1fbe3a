//! Drivers that unregistered from a node and may register again soon.
//!
//! A restarting driver is absent for a moment. A publisher chooses its own grace period, so until the driver returns it may act as if the
//! driver were registered. Does not know what must be deleted at quiescence.

use std::collections::BTreeMap;

use crate::world::{Change, CsiNode, World};

/// Unregistered drivers by CSINode, with their last registration.
#[derive(Default)]
pub(super) struct UnregisteredDrivers {
    unregistered: BTreeMap<String, CsiNode>,
    /// Registrations that ended since the last quiescence because the CSINode was deleted or the driver returned with other keys: a
    /// publisher may not have observed that yet.
    ended: BTreeMap<String, CsiNode>,
}

impl UnregisteredDrivers {
    /// Records a change before it is applied to the world.
    pub(super) fn before(&mut self, world: &World, change: &Change) {
        let Change::CsiNode(name, after) = change else {
            return;
        };
        // A deleted CSINode means a deleted node.
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

    /// Resets at quiescence.
    pub(super) fn settle(&mut self) {
        self.ended.clear();
    }

    /// Whether a predicate holds for the world, or for the world with all these drivers registered.
    pub(super) fn either(&self, world: &World, is_so: impl Fn(&World) -> bool) -> bool {
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
