//! Consumes events in order and returns violations.

use std::borrow::Cow;

use super::departures::Departures;
use super::due::Due;
use super::event::Event;
use super::failures::Failures;
use super::former::Former;
use super::leaders::Leaders;
use super::order::Orders;
use super::pace::Paces;
use super::reads::Reads;
use super::told::Told;
use super::views::Lately;
use super::withdrawn::Withdrawn;
use crate::objects;
use crate::violation::Violation;
use crate::volumes::{self, Backend, Ledger};
use crate::world::{CapacityObject, Change, Driver, Instance, NamespacedName, Objects, World};

/// Checks a history.
pub struct Monitor {
    /// The current world.
    pub(super) world: World,
    /// Changes since the last quiescence.
    pub(super) lately: Lately,
    /// Former labels of capacity objects.
    pub(super) former: Former,
    /// Drivers that may register again.
    pub(super) departures: Departures,
    /// All GetCapacity responses.
    pub(super) told: Told,
    /// Objects that publishers deleted themselves.
    pub(super) withdrawn: Withdrawn,
    /// CreateVolume calls and their results.
    pub(super) ledger: Ledger,
    /// Pending user requests.
    pub(super) orders: Orders,
    /// Replicas that may write.
    pub(super) leaders: Leaders,
    /// Failed CreateVolume calls.
    pub(super) failures: Failures,
    /// Lists and watches of capacity objects by programs.
    pub(super) reads: Reads,
    /// GetCapacity calls that publishers must make.
    pub(super) due: Due,
    /// Rate counters of programs.
    pub(super) paces: Paces,
    /// The capacity objects at the last quiescence, with later changes by clients that are not checked.
    before: Objects,
    /// Whether the server was ever of a release without `maximumVolumeSize`: no watch event reports that the field reappears.
    pub(super) has_hidden_maximum: bool,
}

/// The violations in a history that starts with this quiescent world.
pub fn judge(world: World, events: impl IntoIterator<Item = Event>) -> Vec<Violation> {
    let mut monitor = Monitor::new(world);
    let events = events.into_iter();
    events.flat_map(|event| monitor.observe(event)).collect()
}

impl Monitor {
    /// Starts with a quiescent world.
    pub fn new(world: World) -> Self {
        Monitor {
            lately: Lately::since(&world),
            former: Former::new(&world),
            departures: Departures::default(),
            told: Told::default(),
            withdrawn: Withdrawn::default(),
            ledger: Ledger::default(),
            orders: Orders::default(),
            leaders: Leaders::default(),
            failures: Failures::default(),
            reads: Reads::default(),
            due: Due::default(),
            paces: Paces::default(),
            before: world.objects.clone(),
            has_hidden_maximum: !world.api.release.has_maximum(),
            world,
        }
    }

    /// The world after all events so far.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Applies an event and returns its violations.
    pub fn observe(&mut self, event: Event) -> Vec<Violation> {
        self.paces.happened(&event);
        match event {
            Event::Changed(change) => {
                let mut wrong = Vec::new();
                match &change {
                    Change::CsiDriver(name, Some(stored)) => {
                        wrong.extend(self.stored_driver(name, stored));
                    }
                    Change::Api(_) => {
                        self.reads.disturbed();
                        self.due.forget();
                    }
                    Change::Object(key, object) => {
                        self.accept(key.clone(), object.clone());
                        self.withdrawn.excused();
                    }
                    Change::Publisher(instance, _) => {
                        self.accept_all(instance);
                        self.ledger.restarted(instance);
                        self.due.restarted(instance);
                        self.paces.restarted(instance);
                    }
                    _ => {}
                }
                self.apply(change);
                wrong
            }
            Event::Ordered(orders) => {
                self.orders.ordered(orders);
                Vec::new()
            }
            Event::Refused(code) => self.refused(code).into_iter().collect(),
            Event::Prepared => self.all_stored(),
            Event::Began(client) => {
                self.reads.began(&client);
                self.failures.forget();
                Vec::new()
            }
            Event::Requested(request) => self.requested(&request).into_iter().collect(),
            Event::Told(claim) => {
                self.failures.told(&claim);
                Vec::new()
            }
            Event::Disturbed => {
                self.reads.disturbed();
                self.failures.forget();
                Vec::new()
            }
            Event::Wrote { by, key, object } => self.wrote(&by, key, object),
            Event::Led(client) => {
                self.leaders.led(client);
                Vec::new()
            }
            Event::Delivered { to, key } => self.delivered(&to, &key).into_iter().collect(),
            Event::Asked {
                by,
                driver,
                segment,
                parameters,
                answer,
                possible,
                at,
            } => {
                self.refreshed(&by, &parameters, &segment);
                let question = (driver.as_str(), segment, parameters);
                self.asked(&by, question, (answer, &possible), at)
            }
            Event::Created(creation) => self.created(creation),
            Event::Deleted { id, by } => {
                let wrong = self.deleted(&id, &by);
                self.refresh_after_deletion(&id, &by);
                self.ledger.deleted(&id);
                wrong.into_iter().collect()
            }
            Event::Selected { claim, node } => self.selected(&claim, node),
            Event::Filtered { extender, pod, nodes } => self.filtered(&extender, &pod, &nodes),
            Event::Placed { pod, node } => self.placed(&pod, node),
            Event::Quiet => self.quiet(),
        }
    }

    /// Whether the event may change the violations that quiescence after it would have.
    pub fn is_news(&self, event: &Event) -> bool {
        match event {
            Event::Delivered { .. }
            | Event::Led(_)
            | Event::Ordered(_)
            | Event::Refused(_)
            | Event::Prepared
            | Event::Began(_)
            | Event::Requested(_)
            | Event::Disturbed => false,
            Event::Asked {
                by,
                driver,
                segment,
                parameters,
                answer,
                ..
            } => {
                let mut told = self.told.lately(driver, parameters, segment);
                self.is_due(by, parameters, segment)
                    || answer.is_some_and(|answer| !told.any(|figures| *figures == answer))
            }
            _ => true,
        }
    }

    /// Makes the object's current state, or its absence, the expected one until a program has a reason to change it.
    pub(super) fn accept(&mut self, key: NamespacedName, object: Option<CapacityObject>) {
        match object {
            Some(object) => drop(self.before.insert(key, object)),
            None => drop(self.before.remove(&key)),
        }
    }

    /// A publisher stops or restarts: accepts the current state of its objects.
    fn accept_all(&mut self, instance: &Instance) {
        let Some(publisher) = self.world.publishers.get(instance) else {
            return;
        };
        let is_other =
            |(key, object): (&NamespacedName, &CapacityObject)| !publisher.owns(instance, key, object);
        self.before.retain(|key, object| is_other((key, object)));
        let own = self.world.objects.iter().filter(|own| !is_other(*own));
        self.before
            .extend(own.map(|(key, object)| (key.clone(), object.clone())));
    }

    pub(super) fn apply(&mut self, change: Change) {
        self.departures.before(&self.world, &change);
        if let Change::Claim(key, after) = &change
            && let Some(before) = self.world.claims.get(key)
            && after
                .as_ref()
                .is_none_or(|after| after.selected_node != before.selected_node)
        {
            self.ledger.moved(before);
        }
        self.withdrawn.changed(&change);
        if let Change::Api(api) = &change {
            self.has_hidden_maximum |= !api.release.has_maximum();
        }
        self.former.changed(&change);
        self.lately.add(change.clone());
        self.world.apply(change);
    }

    /// Violations by capacity objects if the cluster is quiescent now.
    pub fn unsettled(&self) -> Vec<Violation> {
        let mut violations = objects::judge_since(&self.before, &self.heard(), &self.world.objects);
        self.excuse_what_was_told(&mut violations);
        violations.extend(self.untold_failures());
        violations.extend(self.unrefreshed());
        violations
    }

    /// Violations by PVCs and volumes if the cluster is quiescent now.
    pub fn unsettled_volumes(&self, backend: &dyn Backend) -> Vec<Violation> {
        volumes::judge(&self.world, &self.ledger, backend)
    }

    /// The world from which the required objects are computed if the cluster is quiescent now: with the capacity objects before the
    /// programs' actions, and with responses that drivers returned before they failed.
    pub fn demanding(&self) -> World {
        let mut world = self.heard().into_owned();
        world.objects.clone_from(&self.before);
        world
    }

    /// The world with responses that drivers returned before they failed. Most drivers have not failed.
    fn heard(&self) -> Cow<'_, World> {
        if self.world.drivers.values().all(Driver::tells_all) {
            return Cow::Borrowed(&self.world);
        }
        let mut world = self.world.clone();
        self.told.put_down(&mut world.drivers);
        Cow::Owned(world)
    }

    fn quiet(&mut self) -> Vec<Violation> {
        let violations = self.unsettled();
        if self.world.api.version().is_none() && !self.world.publishers.is_empty() {
            // Nothing can be written now: publishers act on the received responses later.
            return violations;
        }
        self.before.clone_from(&self.world.objects);
        // The objects contain the received responses by now.
        self.told.forget();
        self.world.drivers.values_mut().for_each(Driver::forget);
        self.lately = Lately::since(&self.world);
        self.departures.settle();
        self.ledger.settle();
        self.due.settle();
        self.leaders.settle();
        self.withdrawn = Withdrawn::default();
        violations
    }
}
