//! Objects that publishers deleted themselves: recreating them without a change is flapping.

use std::collections::BTreeMap;

use capacity_types::Segment;

use crate::world::change::ChangeKind;
use crate::world::{CapacityObject, Change, Instance};

/// Deletions since the last quiescence.
#[derive(Default)]
pub(super) struct DeletedObjects {
    by_class_and_segment: BTreeMap<(Instance, String, Segment), DeletedObject>,
    /// Number of events that may cause a deletion followed by a recreation.
    reasons: u32,
}

/// An object that its publisher deleted.
struct DeletedObject {
    object: CapacityObject,
    /// Number of recreations with equal values.
    recreations: u32,
}

impl DeletedObjects {
    /// A publisher deletes an object of its own.
    pub(super) fn deleted(&mut self, by: &Instance, object: &CapacityObject) {
        let Some(segment) = object.segment() else {
            return;
        };
        let key = (by.clone(), object.class.clone(), segment);
        let deleted = self
            .by_class_and_segment
            .entry(key)
            .or_insert_with(|| DeletedObject {
                object: object.clone(),
                recreations: 0,
            });
        deleted.object = object.clone();
    }

    /// A publisher creates an object. Returns whether it does so without a reason.
    pub(super) fn created(&mut self, by: &Instance, object: &CapacityObject) -> bool {
        let Some(segment) = object.segment() else {
            return false;
        };
        let deleted = self
            .by_class_and_segment
            .get_mut(&(by.clone(), object.class.clone(), segment));
        let Some(deleted) = deleted.filter(|deleted| deleted.object.has_same_values(object)) else {
            return false;
        };
        deleted.recreations += 1;
        deleted.recreations > self.reasons
    }

    /// A change of the environment: it may cause one recreation.
    pub(super) fn changed(&mut self, change: &Change) {
        let is_reaction = matches!(
            change.kind(),
            ChangeKind::Objects | ChangeKind::Claims | ChangeKind::Pods | ChangeKind::Volumes
        );
        self.reasons += u32::from(!is_reaction);
    }

    /// GetCapacity failed, or another client changed an object: the publisher may have deleted an object, or the other of two duplicates
    /// may have been deleted.
    pub(super) fn allow_recreation(&mut self) {
        self.reasons += 1;
    }
}
