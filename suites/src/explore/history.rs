//! A world and what happens in it, step by step: what is drawn, run, and made smaller.

use std::collections::BTreeSet;

use harness::scenario::Role;
use serde::{Deserialize, Serialize};

use super::event::{ClassEvent, Event};
use super::state::State;
use super::world::World;

/// A world, and the events of each step; all programs come to rest between two steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub(super) world: World,
    pub(super) steps: Vec<Vec<Event>>,
}

/// A step of a history.
pub(super) struct Step<'h> {
    pub(super) events: &'h [Event],
    /// Whether everything comes to rest at its end, so that the specification can be asked.
    pub(super) is_calm: bool,
}

impl History {
    /// The same, without the events that cannot happen.
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

    /// Its steps, one after the other.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let mut state = State::of(&self.world);
        self.steps.iter().map(move |events| {
            events.iter().for_each(|event| state.apply(event));
            let is_calm = state.is_calm();
            Step { events, is_calm }
        })
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.steps.iter().map(Vec::len).sum()
    }

    /// Whether a program may end by itself: a publisher that is to publish what its driver does not report.
    pub(super) fn may_end(&self, ended: Option<Role>) -> bool {
        !self.world.driver.get_capacity && ended == Some(Role::Publisher)
    }

    /// Classes that claims name and that are never there.
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
