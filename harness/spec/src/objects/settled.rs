//! The objects that correct programs leave: one of the allowed outcomes if there are several.
//!
//! Provides a world to continue from. Does not check anything.

use capacity_types::{DRIVER_LABEL, LabelSelector, MANAGED_BY_LABEL, NodeTopology, Quantity};

use super::fate::{Fate, fate};
use super::ownership::{Ownership, Stored};
use super::pairs::Pairs;
use super::wanted::{Demand, Demanded, Wanted};
use crate::rules::Question;
use crate::world::{CapacityObject, Figures, Instance, NamespacedName, Objects, Publisher, World};

/// The objects after publishers, cleaner and garbage collection are done: correct ones are retained, missing ones get an unused name.
pub fn settled(world: &World) -> Objects {
    let mut objects = world.objects.clone();
    if world.api.version().is_none() {
        return objects;
    }
    let ownership = Ownership::of(world);
    let own = ownership.divide(&world.objects);
    for (key, object) in own.get(&None).into_iter().flatten() {
        if matches!(fate(world, key, object), Fate::Goes(_)) {
            objects.remove(*key);
        }
    }
    for (instance, publisher) in &world.publishers {
        // If the managed-by label is unknown, so are its objects.
        let Some(managed_by) = publisher.managed_by(instance).filter(|_| publisher.publishes) else {
            continue;
        };
        let own = own.get(&Some(instance)).cloned().unwrap_or_default();
        Publishing {
            wanted: Wanted::of(world, instance, publisher),
            instance,
            publisher,
            managed_by,
            before: &world.objects,
        }
        .publish(&own, &mut objects);
    }
    objects
}

/// The actions of one publisher.
struct Publishing<'w> {
    wanted: Wanted<'w>,
    instance: &'w Instance,
    publisher: &'w Publisher,
    managed_by: String,
    /// All objects before these actions.
    before: &'w Objects,
}

impl Publishing<'_> {
    fn publish(&self, own: &[Stored<'_>], objects: &mut Objects) {
        let kept = self.kept(own, objects);
        for demanded in self.wanted.demands() {
            let key = kept
                .get(demanded.class, demanded.segment)
                .and_then(Option::as_ref);
            match (key, chosen(&demanded.demand, self.publisher)) {
                (Some(key), Chosen::None) => drop(objects.remove(key)),
                (Some(key), Chosen::Figures(figures)) => {
                    if let Some(object) = objects.get_mut(key) {
                        set(object, figures);
                        adopt(object, self.publisher);
                    }
                }
                (None, Chosen::Figures(figures)) => {
                    let mut object = self.new_object(&demanded);
                    set(&mut object, figures);
                    let name = free_name(objects, self.before, self.publisher);
                    objects.insert(name, object);
                }
                (_, Chosen::AsItIs) | (None, Chosen::None) => {}
            }
        }
    }

    /// Retains one object for each class and segment, and deletes the publisher's others.
    fn kept<'s>(&self, own: &[Stored<'s>], objects: &mut Objects) -> Pairs<'s, Option<NamespacedName>> {
        let mut kept: Pairs<'_, Option<NamespacedName>> = Pairs::new();
        for (key, object) in own {
            let segment = object.segment();
            let segment = segment.filter(|segment| self.wanted.has(&object.class, segment));
            match segment.map(|segment| kept.entry(&object.class, segment)) {
                Some(free) if free.is_none() => *free = Some((*key).clone()),
                _ => drop(objects.remove(*key)),
            }
        }
        kept
    }

    fn new_object(&self, demanded: &Demanded<'_>) -> CapacityObject {
        let labels = [
            (DRIVER_LABEL, &self.instance.driver),
            (MANAGED_BY_LABEL, &self.managed_by),
        ];
        CapacityObject {
            uid: String::new(),
            labels: labels.map(|(key, value)| (key.to_owned(), value.clone())).into(),
            owners: self.publisher.owner.clone().into_iter().collect(),
            class: demanded.class.to_owned(),
            topology: NodeTopology::new(Some(LabelSelector::compile(demanded.segment, []))),
            is_in_labels: true,
            capacity: None,
            maximum: None,
        }
    }
}

/// The chosen outcome of a demand.
enum Chosen {
    None,
    Figures(Figures),
    AsItIs,
}

fn chosen(demand: &Demand, publisher: &Publisher) -> Chosen {
    match demand {
        Demand::Present(figures) | Demand::Stale(figures) => Chosen::Figures(*figures),
        Demand::Optional {
            figures, question, ..
        } => match (question, figures.last()) {
            (Question::ImmediateClasses, _) => Chosen::None,
            (Question::KeepOrWithdraw, _) | (_, None) => Chosen::AsItIs,
            (Question::ZeroOrNothing, Some(_)) if !publisher.zero => Chosen::None,
            (_, Some(figures)) => Chosen::Figures(*figures),
        },
    }
}

fn set(object: &mut CapacityObject, figures: Figures) {
    object.capacity = quantity(Some(figures.available));
    object.maximum = quantity(figures.maximum);
}

fn adopt(object: &mut CapacityObject, publisher: &Publisher) {
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

/// A name that no object has or had: a deleted object's name is not reused.
fn free_name(objects: &Objects, before: &Objects, publisher: &Publisher) -> NamespacedName {
    let named = |number: usize| NamespacedName::new(&publisher.namespace, format!("csisc-{number}"));
    let mut number = objects.len();
    while objects.contains_key(&named(number)) || before.contains_key(&named(number)) {
        number += 1;
    }
    named(number)
}
