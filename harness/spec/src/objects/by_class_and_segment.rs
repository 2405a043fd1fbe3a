//! A map whose keys are StorageClass and segment.

use std::collections::BTreeMap;

use capacity_types::Segment;

use crate::world::{CapacityObject, Instance, Publisher, World};

pub(crate) struct ByClassAndSegment<'c, T>(BTreeMap<&'c str, BTreeMap<Segment, T>>);

impl<'c, T: Default> ByClassAndSegment<'c, T> {
    pub(crate) fn new() -> Self {
        ByClassAndSegment(BTreeMap::new())
    }

    /// The value for a StorageClass and a segment. Creates a default value if there is none.
    pub(crate) fn entry(&mut self, class: &'c str, segment: Segment) -> &mut T {
        self.0.entry(class).or_default().entry(segment).or_default()
    }

    pub(crate) fn get(&self, class: &str, segment: &Segment) -> Option<&T> {
        self.0.get(class)?.get(segment)
    }
}

impl<'w> ByClassAndSegment<'w, Option<&'w CapacityObject>> {
    /// The objects of a publisher by StorageClass and segment. Of objects with equal class and segment, only the first one.
    pub(crate) fn of(world: &'w World, instance: &Instance, publisher: &Publisher) -> Self {
        let mut objects = Self::new();
        for (key, object) in &world.objects {
            if publisher.owns(instance, key, object)
                && let Some(segment) = object.segment()
            {
                objects.entry(&object.class, segment).get_or_insert(object);
            }
        }
        objects
    }
}
