//! Objects that publishers have deleted themselves: to make the same again, more often than anything has changed, is a fight with oneself.

use std::collections::BTreeMap;

use capacity_types::Segment;

use crate::world::change::Aspect;
use crate::world::{CapacityObject, Change, Instance};

/// What was deleted since everything was last quiet.
#[derive(Default)]
pub(super) struct Withdrawn {
    pairs: BTreeMap<(Instance, String, Segment), Pair>,
    /// How often something has happened for which an object may go and come again.
    reasons: u32,
}

/// An object that its publisher has deleted.
struct Pair {
    object: CapacityObject,
    /// How often the same was made again.
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

    /// A publisher makes an object; whether that is without reason.
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

    /// Something has changed: what follows from the cluster may be as before again, once for each such change.
    pub(super) fn changed(&mut self, change: &Change) {
        let follows = matches!(
            change.aspect(),
            Aspect::Objects | Aspect::Claims | Aspect::Pods | Aspect::Volumes
        );
        self.reasons += u32::from(!follows);
    }

    /// The driver has told no figure, for which an object may go, or somebody else has changed an object: the one that was kept of two may
    /// be gone.
    pub(super) fn excused(&mut self) {
        self.reasons += 1;
    }
}
