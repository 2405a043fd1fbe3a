//! What publishers have to ask their driver for.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use crate::world::Instance;

/// The segments that publishers have to ask their driver about for a class, since a volume of the class was made or deleted, or found no
/// room.
#[derive(Clone, Debug, Default)]
pub(super) struct Due(pub(super) BTreeMap<Instance, BTreeMap<String, BTreeSet<Segment>>>);

impl Due {
    /// A publisher starts or ends: it asks for everything when it starts.
    pub(super) fn restarted(&mut self, instance: &Instance) {
        self.0.remove(instance);
    }

    /// The API server becomes another, and may not serve the type for a while.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
