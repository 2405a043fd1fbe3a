//! A generated cluster with its events, step by step; the value that is generated, run and minimized.

use std::collections::BTreeSet;

use harness::scenario::Role;
use serde::{Deserialize, Serialize};

use super::event::{ClassEvent, Event};
use super::state::State;
use super::world::World;

/// A cluster, and the events of each step; all programs become idle between steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub(super) world: World,
    pub(super) steps: Vec<Vec<Event>>,
}

/// A step of a history.
pub(super) struct Step<'h> {
    pub(super) events: &'h [Event],
    /// Whether all programs are idle at its end, so that the specification applies.
    pub(super) is_calm: bool,
}

impl History {
    /// Removes the events that are not possible.
    pub(super) fn possible(mut self) -> Self {
        let mut state = State::of(&self.world);
        for step in &mut self.steps {
            step.retain(|event| {
                let is_possible = state.admits(event);
                if is_possible {
                    state.apply(event);
                }
                is_possible
            });
        }
        self
    }

    /// The steps in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let mut state = State::of(&self.world);
        self.steps.iter().map(move |events| {
            events.iter().for_each(|event| state.apply(event));
            let is_calm = state.is_calm();
            Step { events, is_calm }
        })
    }

    /// Number of events.
    pub fn events(&self) -> usize {
        self.steps.iter().map(Vec::len).sum()
    }

    /// Whether a program may exit: a publisher whose driver does not support GetCapacity.
    pub(super) fn may_end(&self, ended: Option<Role>) -> bool {
        !self.world.driver.get_capacity && ended == Some(Role::Publisher)
    }

    /// Classes that claims name and that are never created.
    pub(super) fn missing_classes(&self) -> BTreeSet<&String> {
        let events = || self.steps.iter().flatten();
        let created = events().filter_map(|event| match event {
            Event::Class(ClassEvent::Create(class)) => Some(&class.name),
            _ => None,
        });
        let there = self.world.classes.iter().map(|class| &class.name).chain(created);
        let there: BTreeSet<&String> = there.collect();
        let named = events()
            .flat_map(Event::claims)
            .filter_map(|claim| claim.class.as_ref());
        named.filter(|class| !there.contains(class)).collect()
    }
}
