//! Drivers that are not registered on a node any more, and may be again soon.
//!
//! One that restarts is away for a moment. How long a publisher waits for it is its own, so that until it is back a publisher may act as if
//! it had never gone. Does not say what must be gone once everything is quiet.

use std::collections::BTreeMap;

use crate::world::{Change, CsiNode, World};

/// CSINodes as they were while the drivers were registered that are gone from them.
#[derive(Default)]
pub(super) struct Departures {
    away: BTreeMap<String, CsiNode>,
    /// Those of CSINodes that have gone, and those that are back with other keys, since everything was last quiet: a publisher may not know
    /// of that yet.
    over: BTreeMap<String, CsiNode>,
}

impl Departures {
    /// Takes in a change that the world is about to make.
    pub(super) fn before(&mut self, world: &World, change: &Change) {
        let Change::CsiNode(name, after) = change else {
            return;
        };
        // Where the CSINode itself goes, so does the node.
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

    /// Everything is quiet.
    pub(super) fn settle(&mut self) {
        self.over.clear();
    }

    /// Whether something is so of a world, or of the same with all these drivers still there.
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
