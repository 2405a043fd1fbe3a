//! An extender that reads CSIStorageCapacity objects itself, as vendor extenders did before kube-scheduler did: it filters out nodes
//! without capacity for the pod's volumes, whatever CSIDriver.spec.storageCapacity is.
//!
//! Does not decide by itself: the `spec` crate does.

use std::collections::BTreeSet;

use capacity_spec::placement::View;
use capacity_spec::world::{NamespacedName, World};
use parking_lot::Mutex;

use crate::journal::{Journal, What};
use crate::oracle::change;

/// Reason for nodes that are filtered out.
pub(super) const REASON: &str = "no object has room for a volume there";

/// Cluster state of such an extender.
#[derive(Default)]
pub(super) struct ByCapacity(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Cluster state in which every driver has storageCapacity=true.
    world: World,
    /// Number of journal facts that are applied to it.
    seen: u64,
}

impl ByCapacity {
    /// The nodes with capacity for a pod according to the current objects.
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
