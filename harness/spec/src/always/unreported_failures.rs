//! Failed CreateVolume calls: each requires an event about the PVC.

use std::collections::BTreeMap;

use crate::world::NamespacedName;

/// PVCs with a failed CreateVolume call, with the name of the volume. `None`: an event was written. Later failures of the same PVC need no
/// event, because programs rate-limit events.
#[derive(Clone, Debug, Default)]
pub(super) struct UnreportedFailures(pub(super) BTreeMap<NamespacedName, Option<String>>);

impl UnreportedFailures {
    /// The program that should write the event may be unable to.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// Records an event about a PVC.
    pub(super) fn record_event(&mut self, claim: &NamespacedName) {
        self.0.insert(claim.clone(), None);
    }
}
