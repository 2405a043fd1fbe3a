//! Drivers that are not registered on a node any more, and may be again soon.
//!
//! One that restarts is away for a moment. How long a publisher waits for it is its own, so that until it is back a publisher may act as if
//! it had never gone. Does not say what must be gone once everything is quiet.

use std::collections::BTreeMap;

use crate::world::{Change, CsiNode, World};

/// CSINodes as they were while the drivers were registered that are gone from them.
#[derive(Default)]
pub(super) struct Departures(BTreeMap<String, CsiNode>);

impl Departures {
    /// Takes in a change that the world is about to make.
    pub(super) fn before(&mut self, world: &World, change: &Change) {
        let Change::CsiNode(name, after) = change else {
            return;
        };
        // Where the CSINode itself goes, so does the node.
        let (Some(before), Some(after)) = (world.csi_nodes.get(name), after) else {
            self.0.remove(name);
            return;
        };
        let known = self.0.remove(name).unwrap_or_default();
        let mut gone = CsiNode {
            drivers: known.drivers.into_iter().chain(before.drivers.clone()).collect(),
        };
        gone.drivers
            .retain(|driver, _| !after.drivers.contains_key(driver));
        if !gone.drivers.is_empty() {
            self.0.insert(name.clone(), gone);
        }
    }

    /// Whether something is so of a world, or of the same with all these drivers still there.
    pub(super) fn either(&self, world: &World, is_so: impl Fn(&World) -> bool) -> bool {
        is_so(world) || (!self.0.is_empty() && is_so(&self.undone(world)))
    }

    fn undone(&self, world: &World) -> World {
        let mut world = world.clone();
        for (name, gone) in &self.0 {
            let node = world.csi_nodes.entry(name.clone()).or_default();
            node.drivers.extend(gone.drivers.clone());
        }
        world
    }
}
