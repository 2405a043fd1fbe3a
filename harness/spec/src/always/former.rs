//! Capacity objects as they ever were: a watch may begin in the past, and tell all of it.
//!
//! Keeps what tells whose an object is, which its labels do. Does not know who watches.

use std::collections::BTreeMap;

use crate::world::{CapacityObject, Change, NamespacedName, World};

/// Each object, as it was when it first had each of its sets of labels.
#[derive(Debug, Default)]
pub(super) struct Former(BTreeMap<NamespacedName, Vec<CapacityObject>>);

impl Former {
    /// At the beginning of a history.
    pub(super) fn new(world: &World) -> Self {
        let mut former = Former::default();
        for (key, object) in &world.objects {
            former.put(key, object);
        }
        former
    }

    /// Takes a change in.
    pub(super) fn changed(&mut self, change: &Change) {
        if let Change::Object(key, Some(object)) = change {
            self.put(key, object);
        }
    }

    /// An object with each set of labels that it ever had.
    pub(super) fn of(&self, key: &NamespacedName) -> &[CapacityObject] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    fn put(&mut self, key: &NamespacedName, object: &CapacityObject) {
        let ever = self.0.entry(key.clone()).or_default();
        if ever.iter().all(|known| known.labels != object.labels) {
            ever.push(object.clone());
        }
    }
}
