//! GetCapacity calls that publishers must make.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use crate::world::Instance;

/// Segments for which a publisher must call GetCapacity, by class, because a volume of the class was created, deleted, or failed with
/// RESOURCE_EXHAUSTED.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingRefreshes {
    pub(super) by_class: BTreeMap<Instance, BTreeMap<String, BTreeSet<Segment>>>,
    /// Volumes without capacity since the last quiescence.
    failed: BTreeSet<String>,
}

impl PendingRefreshes {
    /// Records that a volume failed for lack of capacity. Returns whether it was the first time. Later failures require no
    /// refresh: with continuous retries there is no moment at which all refreshes are complete.
    pub(super) fn is_first_failure(&mut self, volume: &str) -> bool {
        self.failed.insert(volume.to_owned())
    }

    /// Resets at quiescence.
    pub(super) fn settle(&mut self) {
        self.failed.clear();
    }

    /// A publisher starts or stops: when it starts, it calls GetCapacity for everything.
    pub(super) fn restarted(&mut self, instance: &Instance) {
        self.by_class.remove(instance);
    }

    /// The API server changes and may not serve the type for a while.
    pub(super) fn forget(&mut self) {
        self.by_class.clear();
    }
}
