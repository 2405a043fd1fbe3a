//! An extender that reads CSIStorageCapacity objects itself, as vendors did before a scheduler looked at them: whatever CSIDriver says, a
//! node is kept if the objects have room for the pod's volumes there.
//!
//! Decides nothing of its own: which nodes those are is the specification's.

use std::collections::BTreeSet;

use capacity_spec::placement::View;
use capacity_spec::world::{NamespacedName, World};
use parking_lot::Mutex;

use crate::journal::{Journal, What};
use crate::oracle::change;

/// What is left of a question.
pub(super) const REASON: &str = "no object has room for a volume there";

/// What such an extender knows of the cluster.
#[derive(Default)]
pub(super) struct ByCapacity(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// As if every driver tracked its capacity.
    world: World,
    /// How much of the journal is in it.
    seen: u64,
}

impl ByCapacity {
    /// The nodes with room for a pod by the objects that there are now.
    pub(super) fn nodes(&self, journal: &Journal, pod: &NamespacedName) -> BTreeSet<String> {
        let mut known = self.0.lock();
        known.catch_up(journal);
        let decision = View::new(&known.world).decide(pod);
        decision.feasible().map(str::to_owned).collect()
    }
}

impl Known {
    fn catch_up(&mut self, journal: &Journal) {
        for fact in journal.since(self.seen) {
            self.seen = fact.seq + 1;
            if let What::Commit(commit) = &fact.what
                && let Some(change) = change(commit)
            {
                self.world.apply(change);
            }
        }
        for driver in self.world.csi_drivers.values_mut() {
            driver.storage_capacity = true;
        }
    }
}
