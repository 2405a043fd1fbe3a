//! Compares existing objects with the objects that must and may exist.
//!
//! The inputs are the objects before and after the actions of publishers. Changes by other clients count as made before the publishers
//! acted.

use std::collections::BTreeSet;

use super::by_class_and_segment::ByClassAndSegment;
use super::cleanup::{Cleanup, lost_all_owners, required_cleanup};
use super::desired::{DesiredObject, DesiredObjects, DesiredState};
use super::ownership::{KeyedObject, Ownership};
use crate::rules::{self, Rule, Unspecified};
use crate::violation::{Subject, Violation, map_text};
use crate::world::{
    CapacityObject, Instance, NamespacedName, Objects, Owner, Publisher, ReportedCapacity, World,
};

/// Compares the objects at quiescence with the required objects. `world.objects`: the objects before the actions of publishers.
pub fn judge(world: &World, stored: &Objects) -> Vec<Violation> {
    judge_since(&world.objects, world, stored)
}

/// Like [`judge`], but with a separate argument for the objects before the actions of publishers (`all`).
pub(crate) fn judge_since(all: &Objects, world: &World, stored: &Objects) -> Vec<Violation> {
    let mut violations = Vec::new();
    if world.api.version().is_none() {
        // The API server does not serve CSIStorageCapacity, so no objects are required.
        return violations;
    }
    let ownership = Ownership::of(world);
    let (before, now) = (
        ownership.group_by_publisher(all),
        ownership.group_by_publisher(stored),
    );
    for (instance, publisher) in &world.publishers {
        let before = before.get(&Some(instance)).cloned().unwrap_or_default();
        let now = now.get(&Some(instance)).cloned().unwrap_or_default();
        if publisher.publishes {
            Judge::new((world, all), instance, publisher, &before).judge(&now, &mut violations);
        } else {
            check_disabled((world, all), stored, &before, &now, &mut violations);
        }
    }
    let before = before.get(&None).cloned().unwrap_or_default();
    let now = now.get(&None).cloned().unwrap_or_default();
    check_unmanaged((world, all), stored, &before, &now, &mut violations);
    violations
}

/// Compares the existing objects of one publisher with the required ones.
struct Judge<'w> {
    world: &'w World,
    /// All objects before the actions of publishers.
    all: &'w Objects,
    instance: &'w Instance,
    publisher: &'w Publisher,
    desired: DesiredObjects<'w>,
    /// The publisher's objects before its actions, by class and segment.
    before: ByClassAndSegment<'w, Vec<&'w CapacityObject>>,
}

impl<'w> Judge<'w> {
    fn new(
        (world, all): (&'w World, &'w Objects),
        instance: &'w Instance,
        publisher: &'w Publisher,
        own: &[KeyedObject<'w>],
    ) -> Self {
        let mut before: ByClassAndSegment<'_, Vec<_>> = ByClassAndSegment::new();
        for (_, object) in own {
            if let Some(segment) = object.segment() {
                before.entry(&object.class, segment).push(*object);
            }
        }
        Self {
            world,
            all,
            instance,
            publisher,
            desired: DesiredObjects::of(world, instance, publisher),
            before,
        }
    }

    fn judge(&self, objects: &[KeyedObject<'_>], violations: &mut Vec<Violation>) {
        let mut found: ByClassAndSegment<'_, Vec<KeyedObject<'_>>> = ByClassAndSegment::new();
        // If the driver lacks GET_CAPACITY, the publisher does nothing; it does not even delete objects.
        let is_idle = |key: &NamespacedName, object: &CapacityObject| {
            self.desired.lacks_get_capacity() && self.all.get(key) == Some(object)
        };
        for (key, object) in objects.iter().filter(|(key, object)| !is_idle(key, object)) {
            let segment = object.segment();
            let state = segment
                .as_ref()
                .and_then(|segment| self.desired.state_for(&object.class, segment));
            violations.extend(self.check_owner(key, object, state.as_ref()));
            match segment.filter(|_| state.is_some()) {
                Some(segment) => found.entry(&object.class, segment).push((key, object)),
                None => violations.push(object_violation(
                    rules::OBSOLETE,
                    key,
                    format!("class {}", object.class),
                )),
            }
        }
        for desired in self.desired.all() {
            let existing = found.get(desired.class, desired.segment);
            self.check_class_and_segment(
                &desired,
                existing.map(Vec::as_slice).unwrap_or_default(),
                violations,
            );
        }
    }

    fn check_class_and_segment(
        &self,
        desired: &DesiredObject<'_>,
        existing: &[KeyedObject<'_>],
        violations: &mut Vec<Violation>,
    ) {
        let DesiredObject {
            class,
            segment,
            state,
        } = desired;
        let mut add = |rule, detail: String| {
            let subject = Subject::ClassAndSegment {
                instance: self.instance.clone(),
                class: (*class).to_owned(),
                segment: (*segment).clone(),
            };
            violations.push(Violation {
                rule,
                subject,
                detail,
            });
        };
        if existing.len() > 1 {
            let names: Vec<&str> = existing.iter().map(|(key, _)| key.name.as_str()).collect();
            add(rules::DUPLICATE, names.join(", "));
        }
        if existing.is_empty()
            && let DesiredState::Present(values) | DesiredState::Stale(values) = state
        {
            add(
                rules::MISSING,
                format!("no object exists, although the driver reports {values}"),
            );
        }
        let before = self.before.get(class, segment).map(Vec::as_slice);
        for (key, object) in existing {
            if let Some(rule) = self.violated_rule(state, object, before.unwrap_or_default()) {
                let (name, values) = (&key.name, object.values_text());
                add(
                    rule,
                    format!("object {name} has {values}; {}", format_allowed(state)),
                );
            }
        }
    }

    /// The rule that the values of an object violate. `None` if the values are allowed.
    fn violated_rule(
        &self,
        state: &DesiredState,
        object: &CapacityObject,
        before: &[&CapacityObject],
    ) -> Option<&'static Rule> {
        let has_maximum = self.world.api.release.has_maximum();
        let is_as_before = before.iter().any(|earlier| earlier.has_same_values(object));
        // An older server does not return a maximum that a newer release has stored.
        let object = &CapacityObject {
            maximum: object.maximum.filter(|_| has_maximum),
            ..object.clone()
        };
        match state {
            DesiredState::Present(values) => (!object.has_values(values)).then_some(rules::WRONG_CAPACITY),
            DesiredState::Stale(values) => {
                (!object.has_values(values) && !is_as_before).then_some(rules::WRONG_CAPACITY)
            }
            DesiredState::Optional {
                values,
                as_before,
                unspecified,
            } => {
                let is_reported = values.iter().any(|values| object.has_values(values));
                let may_be_empty = *unspecified == Unspecified::RetainOrDelete || are_all_zero(values);
                let is_empty = object.is_empty(has_maximum);
                let holds = is_reported || (is_empty && may_be_empty) || (*as_before && is_as_before);
                (!holds).then(|| rule_of(*unspecified, values))
            }
        }
    }

    /// Checks that an object has the configured owner. If no owner is configured, checks that the publisher has set no owner.
    fn check_owner(
        &self,
        key: &NamespacedName,
        object: &CapacityObject,
        state: Option<&DesiredState>,
    ) -> Option<Violation> {
        let before = self.all.get(key);
        let is_as_before = before.is_some_and(|before| before.owners == object.owners);
        // Without polling, or without a capacity value, the publisher need not write the object, so the object may retain its owner.
        let need_not_write = state
            .is_some_and(|state| state.unspecified() == Some(Unspecified::RetainOrDelete))
            || !self.publisher.polls;
        let wrong = match &self.publisher.owner {
            Some(owner) => {
                let is_it = |it: &&Owner| it.uid == owner.uid;
                let controllers = object.owners.iter().filter(|it| it.controller).count();
                // For garbage collection, the owner need not be the controller.
                let has_owner = object.owners.iter().any(|it| is_it(&it));
                (!has_owner || controllers > 1) && !(need_not_write && is_as_before)
            }
            // Owner references that the object had before may remain.
            None => !object.owners.is_empty() && !is_as_before,
        };
        let names: Vec<String> = object
            .owners
            .iter()
            .map(|it| format!("{} {}", it.kind, it.name))
            .collect();
        wrong.then(|| object_violation(rules::WRONG_OWNER, key, format!("owners: {}", names.join(", "))))
    }
}

fn are_all_zero(values: &BTreeSet<ReportedCapacity>) -> bool {
    values.iter().all(|values| values.available == 0)
}

/// The rule that an object with wrong capacity values violates, if the KEP allows several outcomes.
fn rule_of(unspecified: Unspecified, values: &BTreeSet<ReportedCapacity>) -> &'static Rule {
    match unspecified {
        Unspecified::RetainOrDelete => rules::UNKNOWN_CAPACITY,
        _ if are_all_zero(values) => rules::NONZERO_CAPACITY,
        _ => rules::WRONG_CAPACITY,
    }
}

fn format_allowed(state: &DesiredState) -> String {
    match state {
        DesiredState::Present(values) => format!("the driver reports {values}"),
        DesiredState::Stale(values) => {
            format!("the driver reports {values}; the object may keep its old capacity")
        }
        DesiredState::Optional {
            values, as_before, ..
        } => {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            let before = if *as_before { ", or the old capacity" } else { "" };
            format!("allowed: no object, or {}{before}", values.join(" or "))
        }
    }
}

/// Checks that a disabled publisher neither writes nor deletes objects of its earlier runs.
fn check_disabled(
    (world, all): (&World, &Objects),
    stored: &Objects,
    before: &[KeyedObject<'_>],
    now: &[KeyedObject<'_>],
    violations: &mut Vec<Violation>,
) {
    for (key, object) in before {
        if stored.get(*key) != Some(*object) && !lost_all_owners(world, object) {
            let detail = "the disabled publisher changed or removed the object".to_owned();
            violations.push(object_violation(rules::PUBLISHED_WHILE_DISABLED, key, detail));
        }
    }
    for (key, _) in now {
        if !all.contains_key(*key) {
            violations.push(object_violation(
                rules::PUBLISHED_WHILE_DISABLED,
                key,
                "the disabled publisher created the object".to_owned(),
            ));
        }
    }
}

/// Checks objects without a running publisher. They must remain, unless the cleaner or the garbage collector must delete them.
fn check_unmanaged(
    (world, all): (&World, &Objects),
    stored: &Objects,
    before: &[KeyedObject<'_>],
    now: &[KeyedObject<'_>],
    violations: &mut Vec<Violation>,
) {
    for (key, object) in before {
        let current = stored.get(*key);
        match required_cleanup(world, key, object) {
            Cleanup::Retained if current != Some(*object) => {
                let what = if current.is_some() { "changed" } else { "removed" };
                let detail = format!("the object was {what}, and belongs to no running publisher");
                violations.push(object_violation(rules::FOREIGN_OBJECT_CHANGED, key, detail));
            }
            Cleanup::MustBeDeleted(rule) if current.is_some() => {
                violations.push(object_violation(rule, key, "the object still exists".to_owned()));
            }
            _ => {}
        }
    }
    for (key, object) in now {
        if !all.contains_key(*key) {
            let detail = format!(
                "the object was created with labels of no running publisher: {}",
                map_text(&object.labels)
            );
            violations.push(object_violation(rules::WRONG_LABELS, key, detail));
        }
    }
}

fn object_violation(rule: &'static Rule, key: &NamespacedName, detail: String) -> Violation {
    Violation {
        rule,
        subject: Subject::Object(key.clone()),
        detail,
    }
}
