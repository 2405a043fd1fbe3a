//! The objects that exist after correct programs have finished. If several outcomes are allowed, the objects of one outcome.
//!
//! Provides a state from which a history can continue. Does not check anything.

use capacity_types::{DRIVER_LABEL, LabelSelector, MANAGED_BY_LABEL, NodeTopology, Quantity};

use super::by_class_and_segment::ByClassAndSegment;
use super::cleanup::{Cleanup, required_cleanup};
use super::desired::{DesiredObject, DesiredObjects, DesiredState};
use super::ownership::{KeyedObject, Ownership};
use crate::rules::Unspecified;
use crate::world::{CapacityObject, Instance, NamespacedName, Objects, Publisher, ReportedCapacity, World};

/// The objects after publishers, cleaner and garbage collector have finished. Correct objects keep their names; a new object gets an unused
/// name.
pub fn settled(world: &World) -> Objects {
    let mut objects = world.objects.clone();
    if world.api.version().is_none() {
        return objects;
    }
    let ownership = Ownership::of(world);
    let own = ownership.group_by_publisher(&world.objects);
    for (key, object) in own.get(&None).into_iter().flatten() {
        if matches!(required_cleanup(world, key, object), Cleanup::MustBeDeleted(_)) {
            objects.remove(*key);
        }
    }
    for (instance, publisher) in &world.publishers {
        // Without a known managed-by label, the publisher's objects are unknown.
        let Some(managed_by) = publisher.managed_by(instance).filter(|_| publisher.publishes) else {
            continue;
        };
        let own = own.get(&Some(instance)).cloned().unwrap_or_default();
        PublisherActions {
            desired: DesiredObjects::of(world, instance, publisher),
            instance,
            publisher,
            managed_by,
            before: &world.objects,
        }
        .publish(&own, &mut objects);
    }
    objects
}

struct PublisherActions<'w> {
    desired: DesiredObjects<'w>,
    instance: &'w Instance,
    publisher: &'w Publisher,
    managed_by: String,
    /// All objects before the publisher's actions.
    before: &'w Objects,
}

impl PublisherActions<'_> {
    fn publish(&self, own: &[KeyedObject<'_>], objects: &mut Objects) {
        let retained = self.retained(own, objects);
        for desired in self.desired.all() {
            let key = retained
                .get(desired.class, desired.segment)
                .and_then(Option::as_ref);
            match (key, choose_state(&desired.state, self.publisher)) {
                (Some(key), ChosenState::None) => drop(objects.remove(key)),
                (Some(key), ChosenState::Values(values)) => {
                    if let Some(object) = objects.get_mut(key) {
                        set_capacity(object, values);
                        set_owner(object, self.publisher);
                    }
                }
                (None, ChosenState::Values(values)) => {
                    let mut object = self.new_object(&desired);
                    set_capacity(&mut object, values);
                    let name = free_name(objects, self.before, self.publisher);
                    objects.insert(name, object);
                }
                (_, ChosenState::Unchanged) | (None, ChosenState::None) => {}
            }
        }
    }

    /// Retains one of the publisher's objects for each desired class and segment, and removes the publisher's other objects.
    fn retained<'s>(
        &self,
        own: &[KeyedObject<'s>],
        objects: &mut Objects,
    ) -> ByClassAndSegment<'s, Option<NamespacedName>> {
        let mut retained: ByClassAndSegment<'_, Option<NamespacedName>> = ByClassAndSegment::new();
        for (key, object) in own {
            let segment = object.segment();
            let segment = segment.filter(|segment| self.desired.has(&object.class, segment));
            match segment.map(|segment| retained.entry(&object.class, segment)) {
                Some(free) if free.is_none() => *free = Some((*key).clone()),
                _ => drop(objects.remove(*key)),
            }
        }
        retained
    }

    fn new_object(&self, desired: &DesiredObject<'_>) -> CapacityObject {
        let labels = [
            (DRIVER_LABEL, &self.instance.driver),
            (MANAGED_BY_LABEL, &self.managed_by),
        ];
        CapacityObject {
            uid: String::new(),
            labels: labels.map(|(key, value)| (key.to_owned(), value.clone())).into(),
            owners: self.publisher.owner.clone().into_iter().collect(),
            class: desired.class.to_owned(),
            topology: NodeTopology::new(Some(LabelSelector::compile(desired.segment, []))),
            has_only_match_labels: true,
            capacity: None,
            maximum: None,
        }
    }
}

/// The outcome for the object of a class and segment, chosen from the allowed outcomes.
enum ChosenState {
    None,
    Values(ReportedCapacity),
    Unchanged,
}

fn choose_state(state: &DesiredState, publisher: &Publisher) -> ChosenState {
    match state {
        DesiredState::Present(values) | DesiredState::Stale(values) => ChosenState::Values(*values),
        DesiredState::Optional {
            values, unspecified, ..
        } => match (unspecified, values.last()) {
            (Unspecified::ImmediateClasses, _) => ChosenState::None,
            (Unspecified::RetainOrDelete, _) | (_, None) => ChosenState::Unchanged,
            (Unspecified::ZeroOrAbsent, Some(_)) if !publisher.zero_capacity_objects => ChosenState::None,
            (_, Some(values)) => ChosenState::Values(*values),
        },
    }
}

fn set_capacity(object: &mut CapacityObject, values: ReportedCapacity) {
    object.capacity = quantity(Some(values.available));
    object.maximum = quantity(values.maximum);
}

fn set_owner(object: &mut CapacityObject, publisher: &Publisher) {
    if let Some(owner) = &publisher.owner
        && !object
            .owners
            .iter()
            .any(|it| it.uid == owner.uid && it.controller)
    {
        object.owners.retain(|it| !it.controller && it.uid != owner.uid);
        object.owners.push(owner.clone());
    }
}

fn quantity(bytes: Option<i64>) -> Option<Quantity> {
    bytes.and_then(|bytes| bytes.to_string().parse().ok())
}

/// A name that no object has or had before, because names of deleted objects are not reused.
fn free_name(objects: &Objects, before: &Objects, publisher: &Publisher) -> NamespacedName {
    let named = |number: usize| NamespacedName::new(&publisher.namespace, format!("csisc-{number}"));
    let mut number = objects.len();
    while objects.contains_key(&named(number)) || before.contains_key(&named(number)) {
        number += 1;
    }
    named(number)
}
