//! Objects that publishers deleted themselves: recreating them without a change is flapping.

use std::collections::BTreeMap;

use capacity_types::Segment;

use crate::world::change::Aspect;
use crate::world::{CapacityObject, Change, Instance};

/// Deletions since the last quiescence.
#[derive(Default)]
pub(super) struct Withdrawn {
    pairs: BTreeMap<(Instance, String, Segment), Pair>,
    /// Number of events that may cause a deletion followed by a recreation.
    reasons: u32,
}

/// An object that its publisher deleted.
struct Pair {
    object: CapacityObject,
    /// Number of recreations with equal values.
    returns: u32,
}

impl Withdrawn {
    /// A publisher deletes an object of its own.
    pub(super) fn deleted(&mut self, by: &Instance, object: &CapacityObject) {
        let Some(segment) = object.segment() else {
            return;
        };
        let key = (by.clone(), object.class.clone(), segment);
        let pair = self.pairs.entry(key).or_insert_with(|| Pair {
            object: object.clone(),
            returns: 0,
        });
        pair.object = object.clone();
    }

    /// A publisher creates an object. Returns whether it does so without a reason.
    pub(super) fn created(&mut self, by: &Instance, object: &CapacityObject) -> bool {
        let Some(segment) = object.segment() else {
            return false;
        };
        let pair = self.pairs.get_mut(&(by.clone(), object.class.clone(), segment));
        let Some(pair) = pair.filter(|pair| pair.object.says_as(object)) else {
            return false;
        };
        pair.returns += 1;
        pair.returns > self.reasons
    }

    /// A change of the environment: it may cause one recreation.
    pub(super) fn changed(&mut self, change: &Change) {
        let follows = matches!(
            change.aspect(),
            Aspect::Objects | Aspect::Claims | Aspect::Pods | Aspect::Volumes
        );
        self.reasons += u32::from(!follows);
    }

    /// GetCapacity failed, or another client changed an object: the publisher may have deleted an object, or the other of two duplicates
    /// may be gone.
    pub(super) fn excused(&mut self) {
        self.reasons += 1;
    }
}
