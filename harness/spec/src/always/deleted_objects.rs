//! CSIStorageCapacity objects that their publisher has deleted. Creating such an object again without a change in the cluster is a
//! violation (flapping).

use std::collections::BTreeMap;

use capacity_types::Segment;

use crate::world::change::ChangeKind;
use crate::world::{CapacityObject, Change, Instance};

/// CSIStorageCapacity objects that their publishers have deleted since the last quiescence.
#[derive(Default)]
pub(super) struct DeletedObjects {
    by_class_and_segment: BTreeMap<(Instance, String, Segment), DeletedObject>,
    /// Number of events so far that are each a reason to delete and recreate an object once.
    reasons: u32,
}

/// An object that its own publisher has deleted.
struct DeletedObject {
    object: CapacityObject,
    /// How often the publisher created the object again with equal capacity values.
    recreations: u32,
}

impl DeletedObjects {
    /// Records that a publisher deletes a CSIStorageCapacity object of its own.
    pub(super) fn record_deletion(&mut self, by: &Instance, object: &CapacityObject) {
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

    /// Records that a publisher creates a CSIStorageCapacity object. Returns whether it was recreated more often than events gave a reason.
    pub(super) fn record_creation(&mut self, by: &Instance, object: &CapacityObject) -> bool {
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

    /// Records a change in the cluster. A change that is no reaction of a program, such as a new node, may cause one recreation.
    pub(super) fn record_change(&mut self, change: &Change) {
        let is_reaction = matches!(
            change.kind(),
            ChangeKind::Objects | ChangeKind::Claims | ChangeKind::Pods | ChangeKind::Volumes
        );
        self.reasons += u32::from(!is_reaction);
    }

    /// Records a reason for a recreation: GetCapacity failed, so that the publisher may have deleted an object, or another client changed
    /// an object, so that one of two duplicates may have been deleted.
    pub(super) fn allow_recreation(&mut self) {
        self.reasons += 1;
    }
}
