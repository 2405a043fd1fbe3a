//! Rules for writes of CSIStorageCapacity objects: which client may write which object, and for which reason.

use capacity_types::Quantity;

use super::monitor::Monitor;
use super::request::Actor;
use crate::objects::DesiredObjects;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation, map_text, segment_text};
use crate::world::capacity::bytes;
use crate::world::change::ChangeKind;
use crate::world::{CapacityObject, Change, Instance, NamespacedName, Publisher, ReportedCapacity, World};

/// The kinds of objects on which a publisher's CSIStorageCapacity objects depend.
const KINDS: [ChangeKind; 5] = [
    ChangeKind::Nodes,
    ChangeKind::CsiNodes,
    ChangeKind::Classes,
    ChangeKind::CapacityResponses,
    ChangeKind::Settings,
];

impl Monitor {
    pub(super) fn object_written(
        &mut self,
        by: &Actor,
        key: NamespacedName,
        object: Option<CapacityObject>,
    ) -> Vec<Violation> {
        if let Actor::Other | Actor::User | Actor::Unrelated = by {
            let wrong = match by {
                Actor::User => self.check_stored_object(&key, object.as_ref()),
                _ => None,
            };
            self.observe(super::Event::Changed(Change::Object(key, object)));
            return wrong.into_iter().collect();
        }
        let mut wrong = Vec::new();
        match by {
            Actor::Publisher(instance) => {
                self.check_publisher_write(instance, &key, object.as_ref(), &mut wrong);
            }
            Actor::Cleaner if object.is_none() => self.check_cleaner_deletion(&key, &mut wrong),
            _ => wrong.push((rules::FOREIGN_WRITE, "the client is not a publisher".to_owned())),
        }
        self.check_flapping(by, &key, object.as_ref(), &mut wrong);
        let violation = |(rule, detail): (&'static Rule, String)| Violation {
            rule,
            subject: Subject::Object(key.clone()),
            detail,
        };
        let violations = wrong.into_iter().map(violation).collect();
        let is_running = match by {
            Actor::Publisher(instance) => self.world.publishers.contains_key(instance),
            _ => false,
        };
        if !is_running {
            // No running publisher could correct the object, so its state is accepted. Whether the write is allowed was already checked.
            self.accept(key.clone(), object.clone());
        }
        self.apply(Change::Object(key, object));
        violations
    }

    /// Checks that a publisher does not recreate a CSIStorageCapacity object after deleting it.
    fn check_flapping(
        &mut self,
        by: &Actor,
        key: &NamespacedName,
        object: Option<&CapacityObject>,
        wrong: &mut Vec<(&'static Rule, String)>,
    ) {
        let Actor::Publisher(instance) = by else {
            return;
        };
        match (self.world.objects.get(key), object) {
            // A deletion that violates another rule is already reported, so the monitor does not record the deletion.
            (Some(existing), None) if wrong.is_empty() => {
                self.deleted_objects.record_deletion(instance, existing);
            }
            (None, Some(object)) if self.deleted_objects.record_creation(instance, object) => {
                wrong.push((rules::FLAPPING, object.values_text()));
            }
            _ => {}
        }
    }

    fn check_publisher_write(
        &self,
        instance: &Instance,
        key: &NamespacedName,
        object: Option<&CapacityObject>,
        wrong: &mut Vec<(&'static Rule, String)>,
    ) {
        // The publisher may have been stopped or configured differently while the write was in flight.
        let now = self.world.publishers.get(instance).into_iter();
        let publishers: Vec<&Publisher> = now.chain(self.recent.publishers(instance)).collect();
        let Some(publisher) = publishers.first() else {
            return wrong.push((rules::FOREIGN_WRITE, "the publisher is not running".to_owned()));
        };
        if publishers.iter().all(|publisher| !publisher.publishes) {
            wrong.push((rules::WRITE_WHILE_DISABLED, "publishing is disabled".to_owned()));
        }
        let owns = |object: &CapacityObject| publishers.iter().any(|it| it.owns(instance, key, object));
        let existing = self.world.objects.get(key);
        if let Some(existing) = existing
            && !owns(existing)
        {
            let detail = format!(
                "the object does not belong to the publisher; labels: {}",
                map_text(&existing.labels)
            );
            return wrong.push((rules::FOREIGN_WRITE, detail));
        }
        match (existing, object) {
            (_, Some(object)) => {
                if !owns(object) {
                    let detail = format!(
                        "labels of the created object do not identify the publisher: {}",
                        map_text(&object.labels)
                    );
                    wrong.push((rules::CREATED_WITH_WRONG_LABELS, detail));
                }
                self.check_write(instance, existing, object, wrong);
            }
            (Some(existing), None) if self.is_unnecessary(instance, publisher, key, existing) => {
                wrong.push((rules::UNNECESSARY_DELETE, existing.values_text()));
            }
            (_, None) => {}
        }
    }

    fn check_write(
        &self,
        instance: &Instance,
        existing: Option<&CapacityObject>,
        object: &CapacityObject,
        wrong: &mut Vec<(&'static Rule, String)>,
    ) {
        let is_same = |before: &CapacityObject| {
            let uid = before.uid.clone();
            CapacityObject {
                uid,
                ..object.clone()
            } == *before
        };
        match existing {
            None if !self.may_desire_object(instance, object) => {
                let segment = object
                    .segment()
                    .map_or_else(|| "no single segment".to_owned(), |it| segment_text(&it));
                let detail = format!("class {}, topology {segment}", object.class);
                wrong.push((rules::UNWANTED_CREATE, detail));
            }
            Some(before)
                if is_same(before)
                    && !self.may_have_lacked_maximum(before)
                    && !self.may_have_lost_maximum() =>
            {
                wrong.push((rules::NO_OP_UPDATE, object.values_text()));
            }
            _ => {}
        }
        if existing.is_none_or(|before| !before.has_same_values(object)) {
            self.check_values(instance, object, wrong);
        }
    }

    /// Whether the publisher may have received the object without its maximum, because v1alpha1 of 1.19 and 1.20 lacks the field.
    fn may_have_lacked_maximum(&self, object: &CapacityObject) -> bool {
        object.maximum.is_some() && self.has_hidden_maximum
    }

    /// Whether a publisher may have sent a maximum that the server dropped: the server was downgraded to a release without the field, and the
    /// publisher may not know this yet.
    fn may_have_lost_maximum(&self) -> bool {
        !self.world.api.release.has_maximum()
            && self
                .recent
                .any_state(&self.world, &[ChangeKind::Settings], |world| {
                    world.api.release.has_maximum()
                })
    }

    /// Whether the class and the segment of an object were among the publisher's classes and segments in a state that it may have received.
    fn may_desire_object(&self, instance: &Instance, object: &CapacityObject) -> bool {
        object.segment().is_some_and(|segment| {
            self.any_recent_desired(instance, |desired| desired.has(&object.class, &segment))
        })
    }

    /// Whether a predicate holds for the desired objects in a state that the publisher may have received.
    fn any_recent_desired(&self, instance: &Instance, is_so: impl Fn(&DesiredObjects<'_>) -> bool) -> bool {
        let is_wanted = |world: &World| {
            let publisher = world.publishers.get(instance);
            publisher.is_some_and(|publisher| is_so(&DesiredObjects::of(world, instance, publisher)))
        };
        self.recent.any_state(&self.world, &KINDS, |world: &World| {
            self.unregistered
                .holds_with_or_without_unregistered(world, is_wanted)
        })
    }

    /// Checks that the capacity values of an object are not negative and not larger than those that the driver has returned.
    fn check_values(
        &self,
        instance: &Instance,
        object: &CapacityObject,
        wrong: &mut Vec<(&'static Rule, String)>,
    ) {
        let is_negative = |quantity: Option<Quantity>| quantity.is_some_and(|quantity| bytes(quantity) < 0);
        if is_negative(object.capacity) || is_negative(object.maximum) {
            wrong.push((rules::NEGATIVE_CAPACITY, object.values_text()));
        }
        let Some(segment) = object.segment() else {
            return;
        };
        let is_reported = |desired: &DesiredObjects<'_>| {
            let class = desired.class(&object.class);
            let reported = class.and_then(|class| {
                self.responses
                    .maximum_reported(&instance.driver, &class.driver_parameters(), &segment)
            });
            is_within(object, reported)
        };
        if !self.any_recent_desired(instance, is_reported) {
            let detail = format!(
                "{}, which is more than the driver ever returned",
                object.values_text()
            );
            wrong.push((rules::CAPACITY_TOO_HIGH, detail));
        }
    }

    /// Whether the deletion of an object is unnecessary: the object is correct, and unique for its class and segment, in every state that
    /// the publisher may have received. False if the object's selector uses expressions, because the publisher may replace such an object.
    fn is_unnecessary(
        &self,
        instance: &Instance,
        publisher: &Publisher,
        key: &NamespacedName,
        object: &CapacityObject,
    ) -> bool {
        let Some(segment) = object.segment().filter(|_| object.has_only_match_labels) else {
            return false;
        };
        let is_duplicate = |(other, it): (&NamespacedName, &CapacityObject)| {
            other != key
                && it.class == object.class
                && publisher.owns(instance, other, it)
                && it.segment().as_ref() == Some(&segment)
        };
        let may_be_absent = |desired: &DesiredObjects<'_>| desired.may_be_absent(&object.class, &segment);
        !self.any_recent_desired(instance, may_be_absent) && !self.world.objects.iter().any(is_duplicate)
    }

    /// Checks that the cleaner deletes only objects of publishers on nodes without the driver.
    fn check_cleaner_deletion(&self, key: &NamespacedName, wrong: &mut Vec<(&'static Rule, String)>) {
        let kinds = [ChangeKind::Nodes, ChangeKind::CsiNodes, ChangeKind::Settings];
        let object = self.world.objects.get(key);
        let is_orphan = |world: &World| {
            let (Some(cleaner), Some(object)) = (&world.cleaner, object) else {
                return false;
            };
            cleaner.node_of(key, object).is_some_and(|node| {
                let csi_node = world
                    .csi_nodes
                    .get(node)
                    .filter(|_| world.nodes.contains_key(node));
                csi_node.is_none_or(|it| !it.drivers.contains_key(&cleaner.driver))
            })
        };
        if object.is_some() && !self.recent.any_state(&self.world, &kinds, is_orphan) {
            let detail = "the object's node still has the driver, or the object has no node".to_owned();
            wrong.push((rules::FOREIGN_WRITE, detail));
        }
    }
}

/// Whether the capacity values of an object are not larger than those of a GetCapacity response.
fn is_within(object: &CapacityObject, reported: Option<&ReportedCapacity>) -> bool {
    let within = |quantity: Option<Quantity>, reported: Option<i64>| {
        quantity.is_none_or(|quantity| bytes(quantity) <= reported.map_or(0, i128::from))
    };
    within(object.capacity, reported.map(|it| it.available))
        && within(object.maximum, reported.and_then(|it| it.maximum))
}
