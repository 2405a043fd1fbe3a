//! What publishers have to ask their driver for.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use crate::world::Instance;

/// The segments that publishers have to ask their driver about for a class, since a volume of the class was made or deleted, or found no
/// room.
#[derive(Clone, Debug, Default)]
pub(super) struct Due {
    pub(super) by_class: BTreeMap<Instance, BTreeMap<String, BTreeSet<Segment>>>,
    /// Volumes that found no room since everything was last quiet.
    failed: BTreeSet<String>,
}

impl Due {
    /// A volume finds no room; whether for the first time. One that is tried again and again is followed by questions again and again, and
    /// there is no moment at which all are asked.
    pub(super) fn is_first_failure(&mut self, volume: &str) -> bool {
        self.failed.insert(volume.to_owned())
    }

    /// Everything is quiet.
    pub(super) fn settle(&mut self) {
        self.failed.clear();
    }

    /// A publisher starts or ends: it asks for everything when it starts.
    pub(super) fn restarted(&mut self, instance: &Instance) {
        self.by_class.remove(instance);
    }

    /// The API server becomes another, and may not serve the type for a while.
    pub(super) fn forget(&mut self) {
        self.by_class.clear();
    }
}
