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
            former.put(key, object);
        }
        former
    }

    pub(super) fn changed(&mut self, change: &Change) {
        if let Change::Object(key, Some(object)) = change {
            self.put(key, object);
        }
    }

    /// The states of an object: one for each label set that it has had.
    pub(super) fn former_states(&self, key: &NamespacedName) -> &[CapacityObject] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    fn put(&mut self, key: &NamespacedName, object: &CapacityObject) {
        let former = self.0.entry(key.clone()).or_default();
        if former.iter().all(|known| known.labels != object.labels) {
            former.push(object.clone());
        }
    }
}
