//! Takes one event after the other, and says what is wrong.

use super::event::Event;
use super::told::Told;
use super::views::Lately;
use crate::objects;
use crate::violation::Violation;
use crate::world::{Change, Driver, Objects, World};

/// Watches a history.
pub struct Monitor {
    /// The world as it is.
    pub(super) world: World,
    /// What has changed since everything was last quiet.
    pub(super) lately: Lately,
    /// What the driver ever answered.
    pub(super) told: Told,
    /// The capacity objects as they were when everything was last quiet, with what others than the programs did to them since.
    before: Objects,
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
            told: Told::default(),
            before: world.objects.clone(),
            world,
        }
    }

    /// The world as it is after all events so far.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Takes an event in, and says what is wrong about it.
    pub fn observe(&mut self, event: Event) -> Vec<Violation> {
        match event {
            Event::Changed(change) => {
                if let Change::Object(key, object) = &change {
                    match object {
                        Some(object) => drop(self.before.insert(key.clone(), object.clone())),
                        None => drop(self.before.remove(key)),
                    }
                }
                self.apply(change);
                Vec::new()
            }
            Event::Wrote { by, key, object } => self.wrote(&by, key, object),
            Event::Asked {
                by,
                driver,
                segment,
                parameters,
                answer,
            } => self.asked(&by, &driver, segment, parameters, answer),
            Event::Selected { claim, node } => self.selected(&claim, node),
            Event::Placed { pod, node } => self.placed(&pod, node),
            Event::Quiet => self.quiet(),
        }
    }

    pub(super) fn apply(&mut self, change: Change) {
        self.lately.add(change.clone());
        self.world.apply(change);
    }

    fn quiet(&mut self) -> Vec<Violation> {
        self.told.settle(&mut self.world.drivers);
        let stored = std::mem::replace(&mut self.world.objects, std::mem::take(&mut self.before));
        let violations = objects::judge(&self.world, &stored);
        self.before.clone_from(&stored);
        self.world.objects = stored;
        // What was heard is in the objects by now.
        self.world.drivers.values_mut().for_each(Driver::forget);
        self.lately = Lately::since(&self.world);
        violations
    }
}
