//! Volumes that could not be made: why not is told by an event about the claim.

use std::collections::BTreeMap;

use crate::world::NamespacedName;

/// Claims whose volumes could not be made, with the volume that was asked for; none: it is told. Later failures of the same claim may be
/// told or not: programs keep events from becoming too many.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures(pub(super) BTreeMap<NamespacedName, Option<String>>);

impl Failures {
    /// Whoever would have told it may not be able to.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// An event about a claim is written.
    pub(super) fn told(&mut self, claim: &NamespacedName) {
        self.0.insert(claim.clone(), None);
    }
}
