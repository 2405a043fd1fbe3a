//! Finds the publisher to which an object belongs.

use capacity_types::MANAGED_BY_LABEL;
use std::collections::BTreeMap;

use crate::world::{CapacityObject, Instance, NamespacedName, Objects, Publisher, World};

pub(super) type KeyedObject<'s> = (&'s NamespacedName, &'s CapacityObject);

/// The running publishers, indexed by the labels or owners that identify their objects.
pub(super) struct Ownership<'w> {
    by_label: BTreeMap<String, Vec<(&'w Instance, &'w Publisher)>>,
    by_owner: Vec<(&'w Instance, &'w Publisher)>,
}

impl<'w> Ownership<'w> {
    pub(super) fn of(world: &'w World) -> Self {
        let mut ownership = Ownership {
            by_label: BTreeMap::new(),
            by_owner: Vec::new(),
        };
        for (instance, publisher) in &world.publishers {
            match publisher.managed_by(instance) {
                _ if publisher.identifies_by_owner => ownership.by_owner.push((instance, publisher)),
                Some(managed_by) => {
                    let of_label = ownership.by_label.entry(managed_by).or_default();
                    of_label.push((instance, publisher));
                }
                None => {}
            }
        }
        ownership
    }

    /// The publisher to which an object belongs. `None` if no running publisher owns the object.
    pub(super) fn owner(&self, key: &NamespacedName, object: &CapacityObject) -> Option<&'w Instance> {
        let managed_by = object.labels.get(MANAGED_BY_LABEL);
        let labelled = managed_by.and_then(|managed_by| self.by_label.get(managed_by));
        let mut candidates = labelled.into_iter().flatten().chain(&self.by_owner);
        let found = candidates.find(|(instance, publisher)| publisher.owns(instance, key, object));
        found.map(|(instance, _)| *instance)
    }

    /// Groups objects by their publisher; `None`: objects that belong to no running publisher.
    pub(super) fn group_by_publisher<'s>(
        &self,
        objects: &'s Objects,
    ) -> BTreeMap<Option<&'w Instance>, Vec<KeyedObject<'s>>> {
        let mut divided: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (key, object) in objects {
            let of = divided.entry(self.owner(key, object)).or_default();
            of.push((key, object));
        }
        divided
    }
}
