//! Draws a history from a seed: a cluster, and what happens in it.
//!
//! Each kind of thing is drawn in a file of its own. What is drawn is small on purpose: few names and few sizes meet each other often.

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

/// Steps of a history, at most, besides those that bring it to rest.
const STEPS_MAX: u32 = 4;

/// Events of a step, at most, besides those that bring it to rest.
const EVENTS_MAX: u32 = 4;

/// Draws that may come to nothing before a step is as it is.
const ATTEMPTS: u32 = 20;

/// A history, and what it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// What the history was drawn for.
    pub focus: &'static Focus,
    /// What was drawn.
    pub history: History,
}

/// The history of a seed: about one of those that are wanted, or, if none is named, about anything.
pub fn draw(seed: u64, wanted: &[&'static Focus]) -> Drawn {
    let mut dice = Dice::of(seed);
    // Drawn in any case: the same seed is the same history, whether what it is about was wanted or drawn.
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

/// A history that is being drawn.
struct Draw {
    dice: Dice,
    focus: &'static Focus,
    world: World,
    state: State,
    /// How many names were given so far.
    named: u32,
}

impl Draw {
    fn steps(&mut self) -> Vec<Vec<Event>> {
        let mut steps = Vec::new();
        if self.dice.one_in(2) {
            // What there is from the start is looked at before anything happens.
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

    /// An event that can happen now.
    fn event(&mut self) -> Option<Event> {
        for _ in 0..ATTEMPTS {
            let drawn = events::event(self);
            if let Some(event) = drawn.and_then(|event| self.admitted(event)) {
                return Some(event);
            }
        }
        None
    }

    /// The event, which happens; none: it can't happen now.
    fn admitted(&mut self, event: Event) -> Option<Event> {
        let is_possible = self.state.admits(&event);
        if is_possible {
            self.state.apply(&event);
        }
        is_possible.then_some(event)
    }

    /// Ends everything that keeps programs from coming to rest.
    fn come_to_rest(&mut self, step: &mut Vec<Event>) {
        let doomed: Vec<_> = self.state.doomed.iter().copied().collect();
        let stop = doomed.iter().map(|role| Event::Stop(*role));
        let unfault = self.state.faults.keys().map(|id| Event::Unfault(id.clone()));
        let hanging = self.state.scripts.iter().filter(|(_, hangs)| **hangs);
        let unscript = hanging.map(|(id, _)| Event::Uncsi(id.clone()));
        let away = self.state.stopped.get(&Role::Driver);
        let start = away.into_iter().chain(&doomed).map(|role| Event::Start(*role));
        let events: Vec<Event> = stop.chain(unfault).chain(unscript).chain(start).collect();
        events.iter().for_each(|event| self.state.apply(event));
        step.extend(events);
    }

    /// A name that nothing has: one letter and a number.
    fn name(&mut self, letter: char) -> String {
        self.named += 1;
        format!("{letter}{}", self.named)
    }
}
