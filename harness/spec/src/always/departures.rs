//! Drivers that unregistered from a node and may register again soon.
//!
//! A restarting driver is absent for a moment. A publisher chooses its own grace period, so until the driver returns it may act as if the
//! driver were registered. Does not know what must be deleted at quiescence.

use std::collections::BTreeMap;

use crate::world::{Change, CsiNode, World};

/// Unregistered drivers by CSINode, with their last registration.
#[derive(Default)]
pub(super) struct Departures {
    away: BTreeMap<String, CsiNode>,
    /// Registrations that ended since the last quiescence because the CSINode was deleted or the driver returned with other keys: a
    /// publisher may not have observed that yet.
    over: BTreeMap<String, CsiNode>,
}

impl Departures {
    /// Records a change before it is applied to the world.
    pub(super) fn before(&mut self, world: &World, change: &Change) {
        let Change::CsiNode(name, after) = change else {
            return;
        };
        // A deleted CSINode means a deleted node.
        let (Some(before), Some(after)) = (world.csi_nodes.get(name), after) else {
            self.over.extend(self.away.remove_entry(name));
            return;
        };
        let known = self.away.remove(name).unwrap_or_default();
        let mut gone = CsiNode {
            drivers: known.drivers.into_iter().chain(before.drivers.clone()).collect(),
        };
        for (driver, back) in &after.drivers {
            let was = gone.drivers.remove(driver).filter(|was| was != back);
            if let Some(was) = was.filter(|_| !before.drivers.contains_key(driver)) {
                let over = self.over.entry(name.clone()).or_default();
                over.drivers.insert(driver.clone(), was);
            }
        }
        if !gone.drivers.is_empty() {
            self.away.insert(name.clone(), gone);
        }
    }

    /// Resets at quiescence.
    pub(super) fn settle(&mut self) {
        self.over.clear();
    }

    /// Whether a predicate holds for the world, or for the world with all these drivers registered.
    pub(super) fn either(&self, world: &World, is_so: impl Fn(&World) -> bool) -> bool {
        let has_none = self.away.is_empty() && self.over.is_empty();
        is_so(world) || (!has_none && is_so(&self.undone(world)))
    }

    fn undone(&self, world: &World) -> World {
        let mut world = world.clone();
        for (name, gone) in self.over.iter().chain(&self.away) {
            let node = world.csi_nodes.entry(name.clone()).or_default();
            node.drivers.extend(gone.drivers.clone());
        }
        world
    }
}
