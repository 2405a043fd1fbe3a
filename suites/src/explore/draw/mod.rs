//! Generates a history from a seed: a cluster and events.
//!
//! One file per kind of object. Generated names and sizes come from small sets, so that they often interact.

mod by_name;
mod cluster;
mod events;
mod objects;
mod places;
mod recreation;
mod settings;
mod storage;
mod trouble;
mod workload;

use harness::scenario::Role;

use super::dice::Dice;
use super::event::Event;
use super::focus::{FOCUSES, Focus};
use super::history::History;
use super::state::State;
use super::world::World;

/// Maximum number of steps, without the final one that ends all faults.
const STEPS_MAX: u32 = 4;

/// Maximum number of events per step, without those that end faults.
const EVENTS_MAX: u32 = 4;

/// Attempts to find possible events for a step.
const ATTEMPTS: u32 = 20;

/// A generated history and its focus.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The focus of the history.
    pub focus: &'static Focus,
    /// The history.
    pub history: History,
}

/// Generates the history of a seed, with one of the wanted focuses, or with any if the list is empty.
pub fn draw(seed: u64, wanted: &[&'static Focus]) -> Drawn {
    let mut dice = Dice::of(seed);
    // Drawn in any case, so that a seed yields the same history whether its focus was selected or drawn.
    let drawn = dice.pick(&FOCUSES);
    let focus = match wanted {
        [] => drawn,
        wanted if wanted.contains(&drawn) => drawn,
        [only] => only,
        wanted => *dice.pick(wanted),
    };
    let world = cluster::world(&mut dice, focus);
    let state = State::of(&world);
    let mut draw = Draw {
        dice,
        focus,
        world,
        state,
        named: 0,
    };
    let steps = draw.steps();
    let world = draw.world;
    Drawn {
        focus,
        history: History { world, steps },
    }
}

/// State of the generator.
struct Draw {
    dice: Dice,
    focus: &'static Focus,
    world: World,
    state: State,
    /// Number of names used so far.
    named: u32,
}

impl Draw {
    fn steps(&mut self) -> Vec<Vec<Event>> {
        let mut steps = Vec::new();
        if self.dice.one_in(2) {
            // The initial state is checked before any event.
            steps.push(Vec::new());
        }
        for _ in 0..self.dice.between(1, STEPS_MAX) {
            let mut step = Vec::new();
            if !self.state.is_calm() && !self.dice.one_in(3) {
                self.come_to_rest(&mut step);
            }
            for _ in 0..self.dice.between(1, EVENTS_MAX) {
                step.extend(self.event());
            }
            if self.dice.one_in(3) {
                step.extend(recreation::events(self));
            }
            steps.push(step);
        }
        if !self.state.is_calm() {
            let mut step = Vec::new();
            self.come_to_rest(&mut step);
            steps.push(step);
        }
        steps
    }

    /// An event that is possible now.
    fn event(&mut self) -> Option<Event> {
        for _ in 0..ATTEMPTS {
            let drawn = events::event(self);
            if let Some(event) = drawn.and_then(|event| self.admitted(event)) {
                return Some(event);
            }
        }
        None
    }

    /// Applies an event to the state; `None` if it is not possible now.
    fn admitted(&mut self, event: Event) -> Option<Event> {
        let is_possible = self.state.admits(&event);
        if is_possible {
            self.state.apply(&event);
        }
        is_possible.then_some(event)
    }

    /// Ends all faults that keep programs from becoming idle.
    fn come_to_rest(&mut self, step: &mut Vec<Event>) {
        let doomed: Vec<_> = self.state.doomed.iter().copied().collect();
        let stop = doomed.iter().map(|role| Event::Stop(*role));
        let unfault = self.state.faults.keys().map(|id| Event::RemoveFault(id.clone()));
        let hanging = self.state.scripts.iter().filter(|(_, hangs)| **hangs);
        let unscript = hanging.map(|(id, _)| Event::RemoveDriverFault(id.clone()));
        let away = self.state.stopped.get(&Role::Driver);
        let start = away.into_iter().chain(&doomed).map(|role| Event::Start(*role));
        let events: Vec<Event> = stop.chain(unfault).chain(unscript).chain(start).collect();
        events.iter().for_each(|event| self.state.apply(event));
        step.extend(events);
    }

    /// A new name: one letter and a number.
    fn name(&mut self, letter: char) -> String {
        self.named += 1;
        format!("{letter}{}", self.named)
    }
}
