//! A history: a generated cluster with its events, step by step. Histories are generated, run and minimized.

use std::collections::BTreeSet;

use harness::scenario::Role;
use serde::{Deserialize, Serialize};

use super::cluster::GeneratedCluster;
use super::event::{ClassEvent, Event};
use super::state::State;

/// A cluster, and the events of each step. All programs become idle at the end of a step, unless a fault prevents them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    #[serde(rename = "world")]
    pub(super) cluster: GeneratedCluster,
    pub(super) steps: Vec<Vec<Event>>,
}

pub(super) struct Step<'h> {
    pub(super) events: &'h [Event],
    /// Whether all programs are idle at the end of the step, so that the specification applies.
    pub(super) is_idle: bool,
}

impl History {
    pub(super) fn without_impossible_events(mut self) -> Self {
        let mut state = State::of(&self.cluster);
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

    pub(super) fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let mut state = State::of(&self.cluster);
        self.steps.iter().map(move |events| {
            events.iter().for_each(|event| state.apply(event));
            let is_idle = state.is_idle();
            Step { events, is_idle }
        })
    }

    /// Number of events in all steps.
    pub fn events(&self) -> usize {
        self.steps.iter().map(Vec::len).sum()
    }

    /// Whether the program of this role may exit without violating the specification: true for a publisher whose driver does not support
    /// GetCapacity.
    pub(super) fn may_exit(&self, ended: Option<Role>) -> bool {
        !self.cluster.driver.get_capacity && ended == Some(Role::Publisher)
    }

    /// Classes that claims reference, but that are neither in the initial cluster nor created by an event.
    pub(super) fn missing_classes(&self) -> BTreeSet<&String> {
        let events = || self.steps.iter().flatten();
        let created = events().filter_map(|event| match event {
            Event::Class(ClassEvent::Create(class)) => Some(&class.name),
            _ => None,
        });
        let existing = self
            .cluster
            .classes
            .iter()
            .map(|class| &class.name)
            .chain(created);
        let existing: BTreeSet<&String> = existing.collect();
        let named = events()
            .flat_map(Event::claims)
            .filter_map(|claim| claim.class.as_ref());
        named.filter(|class| !existing.contains(class)).collect()
    }
}
