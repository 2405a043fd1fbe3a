//! GetCapacity calls that publishers must make after volumes have changed.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use crate::world::Instance;

/// Segments for which a publisher must call GetCapacity, by StorageClass, because a volume of the class was created, deleted, or failed
/// with RESOURCE_EXHAUSTED.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingRefreshes {
    pub(super) by_class: BTreeMap<Instance, BTreeMap<String, BTreeSet<Segment>>>,
    /// Names of volumes that failed for lack of capacity since the last quiescence.
    failed: BTreeSet<String>,
}

impl PendingRefreshes {
    /// Records that a volume failed for lack of capacity. Returns whether this is its first failure. Later failures require no refresh:
    /// while the volume is retried continuously, there would be no moment at which all refreshes are complete.
    pub(super) fn is_first_failure(&mut self, volume: &str) -> bool {
        self.failed.insert(volume.to_owned())
    }

    /// Called at quiescence: drops all required GetCapacity calls.
    pub(super) fn on_quiescence(&mut self) {
        self.failed.clear();
    }

    /// Drops the required calls of a publisher that starts or stops: a starting publisher calls GetCapacity for all classes and segments.
    pub(super) fn publisher_restarted(&mut self, instance: &Instance) {
        self.by_class.remove(instance);
    }

    /// Drops all required GetCapacity calls, because the API server changes and may not serve CSIStorageCapacity for a while.
    pub(super) fn clear(&mut self) {
        self.by_class.clear();
    }
}
