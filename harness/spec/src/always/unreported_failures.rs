//! Failed CreateVolume calls. Each requires an Event about the PVC.

use std::collections::BTreeMap;

use crate::world::NamespacedName;

/// Names of the volumes whose CreateVolume call failed, by PVC. `None`: an Event about the PVC was created; later failures then require no
/// Event, because programs limit the rate of Events.
#[derive(Clone, Debug, Default)]
pub(super) struct UnreportedFailures(pub(super) BTreeMap<NamespacedName, Option<String>>);

impl UnreportedFailures {
    /// Drops all required Events, because the program may be unable to create them.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Records that an Event about a PVC was created.
    pub(super) fn record_event(&mut self, claim: &NamespacedName) {
        self.0.insert(claim.clone(), None);
    }
}
