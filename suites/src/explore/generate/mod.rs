//! Generates a history from a seed: a cluster and events.
//!
//! One file per kind of object. Names and sizes are chosen from small sets, so that objects often affect each other.

mod by_name;
mod cluster;
mod events;
mod faults;
mod objects;
mod recreation;
mod settings;
mod storage;
mod topology;
mod workload;

use harness::scenario::Role;

use super::cluster::GeneratedCluster;
use super::event::Event;
use super::focus::{FOCUSES, Focus};
use super::history::History;
use super::rng::SeededRng;
use super::state::State;

/// Maximum number of steps, not counting the final step that ends all faults.
const STEPS_MAX: u32 = 4;

/// Maximum number of events per step, not counting events that end faults.
const EVENTS_MAX: u32 = 4;

/// Maximum number of attempts to generate an event that is possible.
const ATTEMPTS: u32 = 20;

/// A generated history, with its focus.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The focus of the history.
    pub focus: &'static Focus,
    /// The generated cluster and its events.
    pub history: History,
}

/// Generates the history of a seed, with one of the wanted focuses, or with any focus if `wanted` is empty.
pub fn generate(seed: u64, wanted: &[&'static Focus]) -> Generated {
    let mut rng = SeededRng::of(seed);
    // Pick a focus even if `wanted` determines it, so that the history of a seed does not depend on how the focus was selected.
    let picked = rng.pick(&FOCUSES);
    let focus = match wanted {
        [] => picked,
        wanted if wanted.contains(&picked) => picked,
        [only] => only,
        wanted => *rng.pick(wanted),
    };
    let cluster = cluster::generate(&mut rng, focus);
    let state = State::of(&cluster);
    let mut generator = Generator {
        rng,
        focus,
        cluster,
        state,
        names_used: 0,
    };
    let steps = generator.steps();
    let cluster = generator.cluster;
    Generated {
        focus,
        history: History { cluster, steps },
    }
}

struct Generator {
    rng: SeededRng,
    focus: &'static Focus,
    cluster: GeneratedCluster,
    state: State,
    names_used: u32,
}

impl Generator {
    fn steps(&mut self) -> Vec<Vec<Event>> {
        let mut steps = Vec::new();
        if self.rng.one_in(2) {
            // The initial state is checked before any event.
            steps.push(Vec::new());
        }
        for _ in 0..self.rng.between(1, STEPS_MAX) {
            let mut step = Vec::new();
            if !self.state.is_idle() && !self.rng.one_in(3) {
                self.end_faults(&mut step);
            }
            for _ in 0..self.rng.between(1, EVENTS_MAX) {
                step.extend(self.event());
            }
            if self.rng.one_in(3) {
                step.extend(recreation::events(self));
            }
            steps.push(step);
        }
        if !self.state.is_idle() {
            let mut step = Vec::new();
            self.end_faults(&mut step);
            steps.push(step);
        }
        steps
    }

    /// A random event that is possible now, applied to the state; `None` if no attempt yields a possible event.
    fn event(&mut self) -> Option<Event> {
        for _ in 0..ATTEMPTS {
            let generated = events::event(self);
            if let Some(event) = generated.and_then(|event| self.apply_if_possible(event)) {
                return Some(event);
            }
        }
        None
    }

    fn apply_if_possible(&mut self, event: Event) -> Option<Event> {
        let is_possible = self.state.admits(&event);
        if is_possible {
            self.state.apply(&event);
        }
        is_possible.then_some(event)
    }

    /// Ends all faults that keep programs from becoming idle.
    fn end_faults(&mut self, step: &mut Vec<Event>) {
        let may_be_killed: Vec<_> = self.state.may_be_killed.iter().copied().collect();
        let stop = may_be_killed.iter().map(|role| Event::Stop(*role));
        let remove_faults = self.state.faults.keys().map(|id| Event::RemoveFault(id.clone()));
        let hanging = self.state.driver_faults.iter().filter(|(_, hangs)| **hangs);
        let remove_driver_faults = hanging.map(|(id, _)| Event::RemoveDriverFault(id.clone()));
        let away = self.state.stopped.get(&Role::Driver);
        let start = away
            .into_iter()
            .chain(&may_be_killed)
            .map(|role| Event::Start(*role));
        let events: Vec<Event> = stop
            .chain(remove_faults)
            .chain(remove_driver_faults)
            .chain(start)
            .collect();
        events.iter().for_each(|event| self.state.apply(event));
        step.extend(events);
    }

    /// A new object name: one letter and a number.
    fn name(&mut self, letter: char) -> String {
        self.names_used += 1;
        format!("{letter}{}", self.names_used)
    }
}
