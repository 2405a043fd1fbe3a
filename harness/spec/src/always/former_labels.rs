//! All former label sets of capacity objects: a watch may start in the past and deliver all of them.
//!
//! Owns the labels, which determine an object's publisher. Does not know the watches.

use std::collections::BTreeMap;

use crate::world::{CapacityObject, Change, NamespacedName, World};

/// Each object, as it was when it first had each of its label sets.
#[derive(Debug, Default)]
pub(super) struct FormerLabels(BTreeMap<NamespacedName, Vec<CapacityObject>>);

impl FormerLabels {
    /// The initial objects of a history.
    pub(super) fn new(world: &World) -> Self {
        let mut former = FormerLabels::default();
        for (key, object) in &world.objects {
            former.put(key, object);
        }
        former
    }

    /// Records a change.
    pub(super) fn changed(&mut self, change: &Change) {
        if let Change::Object(key, Some(object)) = change {
            self.put(key, object);
        }
    }

    /// The object with each label set that it ever had.
    pub(super) fn of(&self, key: &NamespacedName) -> &[CapacityObject] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    fn put(&mut self, key: &NamespacedName, object: &CapacityObject) {
        let former = self.0.entry(key.clone()).or_default();
        if former.iter().all(|known| known.labels != object.labels) {
            former.push(object.clone());
        }
    }
}
