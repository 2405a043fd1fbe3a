//! A scheduler extender that reads CSIStorageCapacity objects, as vendor extenders did before kube-scheduler read them: it filters out
//! nodes without enough capacity for the pod's volumes, whatever CSIDriver.spec.storageCapacity is.
//!
//! The decision itself is made by the `spec` crate.

use std::collections::BTreeSet;

use capacity_spec::placement::IndexedWorld;
use capacity_spec::world::{NamespacedName, World};
use parking_lot::Mutex;

use crate::journal::{Journal, Observation};
use crate::oracle::change;

/// Reason in the extender's response for nodes that are filtered out.
pub(super) const REASON: &str = "no CSIStorageCapacity object of the node has enough capacity";

/// Filters nodes by the CSIStorageCapacity objects of the cluster.
#[derive(Default)]
pub(super) struct CapacityFilter(Mutex<State>);

#[derive(Default)]
struct State {
    /// Cluster state in which every driver has storageCapacity=true.
    world: World,
    /// Number of journal facts that have been applied to `world`.
    applied: u64,
}

impl CapacityFilter {
    /// The feasible nodes of a pod according to the current CSIStorageCapacity objects.
    pub(super) fn nodes(&self, journal: &Journal, pod: &NamespacedName) -> BTreeSet<String> {
        let mut state = self.0.lock();
        state.update(journal);
        let decision = IndexedWorld::new(&state.world).decide(pod);
        decision.feasible().map(str::to_owned).collect()
    }
}

impl State {
    fn update(&mut self, journal: &Journal) {
        for fact in journal.since(self.applied) {
            self.applied = fact.seq + 1;
            if let Observation::Commit(commit) = &fact.what
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
