//! All label sets that CSIStorageCapacity objects have had: a watch may start at an old revision and send events for each of them.
//!
//! Owns the labels, which determine the publisher of an object. Does not know the watches.

use std::collections::BTreeMap;

use crate::world::{CapacityObject, Change, NamespacedName, World};

/// For each label set that an object has had, the object when it first had these labels.
#[derive(Debug, Default)]
pub(super) struct FormerLabels(BTreeMap<NamespacedName, Vec<CapacityObject>>);

impl FormerLabels {
    /// Records the initial objects of a history.
    pub(super) fn new(world: &World) -> Self {
        let mut former = FormerLabels::default();
        for (key, object) in &world.objects {
            former.add_state(key, object);
        }
        former
    }

    pub(super) fn record_change(&mut self, change: &Change) {
        if let Change::Object(key, Some(object)) = change {
            self.add_state(key, object);
        }
    }

    /// The former states of a CSIStorageCapacity object: one for each label set that the object has had.
    pub(super) fn former_states(&self, key: &NamespacedName) -> &[CapacityObject] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    fn add_state(&mut self, key: &NamespacedName, object: &CapacityObject) {
        let former = self.0.entry(key.clone()).or_default();
        if former.iter().all(|known| known.labels != object.labels) {
            former.push(object.clone());
        }
    }
}
