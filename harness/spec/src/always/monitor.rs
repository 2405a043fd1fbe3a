//! Takes one event after the other, and says what is wrong.

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

/// Watches a history.
pub struct Monitor {
    /// The world as it is.
    pub(super) world: World,
    /// What has changed since everything was last quiet.
    pub(super) lately: Lately,
    /// The capacity objects as they ever were.
    pub(super) former: Former,
    /// Drivers that may be registered again soon.
    pub(super) departures: Departures,
    /// What the driver ever answered.
    pub(super) told: Told,
    /// What publishers have deleted themselves.
    pub(super) withdrawn: Withdrawn,
    /// What the driver was asked to make.
    pub(super) ledger: Ledger,
    /// What the user has asked the API server for.
    pub(super) orders: Orders,
    /// The capacity objects that publishers know to have created.
    /// The replicas that may write.
    pub(super) leaders: Leaders,
    /// Volumes that could not be made.
    pub(super) failures: Failures,
    /// What programs have read of the capacity objects.
    pub(super) reads: Reads,
    /// What publishers have to ask the driver for.
    pub(super) due: Due,
    /// How often programs have asked.
    pub(super) paces: Paces,
    /// The capacity objects as they were when everything was last quiet, with what others than the programs did to them since.
    before: Objects,
    /// Whether the server was ever of a release that hides the maximum of objects: no event tells a publisher that it is there again.
    pub(super) has_hidden_maximum: bool,
}

/// What is wrong with a history that begins with this world, which is quiet.
pub fn judge(world: World, events: impl IntoIterator<Item = Event>) -> Vec<Violation> {
    let mut monitor = Monitor::new(world);
    let events = events.into_iter();
    events.flat_map(|event| monitor.observe(event)).collect()
}

impl Monitor {
    /// Begins with a world that is quiet.
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

    /// The world as it is after all events so far.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Takes an event in, and says what is wrong about it.
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

    /// Whether an event may change what would be wrong if everything were quiet after it.
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

    /// From now on an object is to be as it is now, or gone, unless a program has a reason to change that.
    pub(super) fn accept(&mut self, key: NamespacedName, object: Option<CapacityObject>) {
        match object {
            Some(object) => drop(self.before.insert(key, object)),
            None => drop(self.before.remove(&key)),
        }
    }

    /// A publisher ends, or begins anew: its objects are as its life so far has left them.
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

    /// What would be wrong with the capacity objects if everything were quiet now.
    pub fn unsettled(&self) -> Vec<Violation> {
        let mut violations = objects::judge_since(&self.before, &self.heard(), &self.world.objects);
        self.excuse_what_was_told(&mut violations);
        violations.extend(self.untold_failures());
        violations.extend(self.unrefreshed());
        violations
    }

    /// What would be wrong with claims and volumes if everything were quiet now.
    pub fn unsettled_volumes(&self, backend: &dyn Backend) -> Vec<Violation> {
        volumes::judge(&self.world, &self.ledger, backend)
    }

    /// The world that says what objects there must be if everything is quiet now: with the capacity objects as they were before the
    /// programs did anything, and with what drivers were heard to answer before they failed.
    pub fn demanding(&self) -> World {
        let mut world = self.heard().into_owned();
        world.objects.clone_from(&self.before);
        world
    }

    /// The world with what drivers were heard to answer before they failed. Most have not failed.
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
            // Nothing can be written: what publishers have heard, they act on once it can.
            return violations;
        }
        self.before.clone_from(&self.world.objects);
        // What was heard is in the objects by now.
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
