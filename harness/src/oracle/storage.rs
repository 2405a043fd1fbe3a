//! What the driver of a case has to answer: from the storage that the case describes, what volumes were seen to take of it, and what the
//! driver is told to say instead.
//!
//! Worked out from the case's own words and from answered calls. Deliberately absent: the code of the driver, and storage that is laid out
//! in devices.

use std::collections::BTreeMap;

use capacity_spec::volumes::Backend;
use capacity_spec::world::{Answer, Figures, Parameters};
use capacity_types::Segment;
use capacity_types::segment::contains;
use fake_csi::Storage as Layout;

use crate::journal::CallFact;
use crate::plan::{Action, Effect, Plan, Script};
use crate::scenario::Role;

/// The call whose answers are published. All others that a case speaks of are about volumes.
pub(super) const GET_CAPACITY: &str = "GetCapacity";

/// Raw bytes that volumes leave of a pool.
struct Free {
    /// All.
    sum: u128,
    /// Those in one piece.
    piece: u128,
    /// Whether the driver tells how large that is.
    is_told: bool,
}

/// The storage of a case, at one point of its journal.
pub(super) struct Storage<'p> {
    plan: &'p Plan,
    pools: BTreeMap<Segment, Layout>,
    /// What each volume takes, by its id in the driver: of which segment, and how many raw bytes.
    taken: BTreeMap<String, (Segment, u128)>,
    /// What the driver is told to do instead of answering, for as long as that is in force.
    scripts: Vec<&'p Script>,
    is_down: bool,
    /// Whether connections are cut on which answers are under way, to whatever question.
    loses_answers: bool,
}

impl<'p> Storage<'p> {
    /// As a case begins.
    pub(super) fn of(plan: &'p Plan) -> Self {
        Storage {
            plan,
            pools: plan.driver.pools.iter().cloned().collect(),
            taken: BTreeMap::new(),
            scripts: Vec::new(),
            is_down: false,
            loses_answers: false,
        }
    }

    /// The harness does something. What happens to a limited number of calls is over when everything is quiet, so it is not taken down.
    pub(super) fn act(&mut self, action: &'p Action) {
        if let Action::Script(script) = action {
            self.loses_answers |= matches!(script.effect, Effect::Disconnect | Effect::LoseAnswer);
        }
        match action {
            Action::Pool(segment, Some(layout)) => {
                drop(self.pools.insert(segment.clone(), layout.clone()));
            }
            Action::Pool(segment, None) => drop(self.pools.remove(segment)),
            // A delay changes no answer.
            Action::Script(script)
                if script.times.is_none() && !matches!(script.effect, Effect::Delay(_)) =>
            {
                self.scripts.push(script);
            }
            Action::Unscript(name) => self.scripts.retain(|script| script.id.as_ref() != Some(name)),
            Action::Stop(Role::Driver) => self.is_down = true,
            Action::Start(Role::Driver) => self.is_down = false,
            _ => {}
        }
    }

    /// Whether an answer may not have reached the publisher.
    pub(super) fn loses_answers(&self) -> bool {
        self.loses_answers
    }

    /// A volume is made or deleted.
    pub(super) fn called(&mut self, call: &CallFact) {
        let Some(id) = call.volume_id.as_ref().filter(|_| call.code == "OK") else {
            return;
        };
        if call.method == "DeleteVolume" {
            self.taken.remove(id);
        }
        if let Some(placed) = &call.placed {
            let segment = parsed(self.plan, placed.segment.as_deref());
            let bytes = u128::try_from(placed.bytes).unwrap_or_default();
            let raw = bytes.saturating_mul(self.cost(&call.parameters));
            self.taken.insert(id.clone(), (segment, raw));
        }
    }

    /// What the driver answers, once everything is quiet, to GetCapacity for a segment and parameters.
    pub(super) fn answer(&self, segment: &Segment, parameters: &Parameters) -> Answer {
        if self.is_down {
            return Answer::error();
        }
        let mut scripts = self.scripts.iter();
        let script = scripts.find(|script| is_about(script, segment, parameters));
        match script.map(|script| script.effect) {
            None => Answer::Figures(self.figures(segment, parameters)),
            Some(Effect::Answer {
                available, maximum, ..
            }) => Answer::Figures(Figures { available, maximum }),
            Some(_) => Answer::error(),
        }
    }

    /// The sum of what is free where the segment reaches it, and the largest single piece if each has one to tell.
    fn figures(&self, segment: &Segment, parameters: &Parameters) -> Figures {
        let cost = self.cost(parameters);
        let is_everywhere = self.plan.segments.keys().is_empty();
        let is_reached = |of: &Segment| is_everywhere || contains(segment, of);
        let mut figures = Figures::default();
        let mut tells = self.plan.driver.version.has_volume_sizes();
        for (of, layout) in self.pools.iter().filter(|(of, _)| is_reached(of)) {
            let Free { sum, piece, is_told } = self.free(of, layout);
            tells &= is_told;
            figures.available = figures.available.saturating_add(bytes(sum / cost));
            figures.maximum = figures.maximum.max(Some(bytes(piece / cost)));
        }
        figures.maximum = figures.maximum.filter(|_| tells);
        figures
    }

    /// What volumes leave of a pool.
    fn free(&self, of: &Segment, layout: &Layout) -> Free {
        let (capacity, largest) = extent(layout);
        let taken = self.taken.values().filter(|(at, _)| at == of);
        let taken = taken.fold(0_u128, |sum, (_, raw)| sum.saturating_add(*raw));
        let sum = capacity.saturating_sub(taken);
        Free {
            sum,
            piece: largest.map_or(sum, |largest| sum.min(largest)),
            is_told: largest.is_some(),
        }
    }

    /// Raw bytes for each byte of a volume.
    fn cost(&self, parameters: &Parameters) -> u128 {
        let costs = self.plan.driver.costs.iter();
        let own = costs.filter(|(parameter, value, _)| parameters.get(parameter) == Some(value));
        own.map(|(_, _, factor)| u128::from(*factor)).product()
    }
}

impl Backend for Storage<'_> {
    fn is_up(&self) -> bool {
        !self.is_down && self.scripts.iter().all(|script| script.method == GET_CAPACITY)
    }

    fn has_room(&self, segment: &Segment, parameters: &Parameters, wanted: i128) -> bool {
        let cost = self.cost(parameters);
        let is_enough = |piece: u128| u128::try_from(wanted).is_ok_and(|wanted| wanted <= piece / cost);
        let mut own = self.pools.iter().filter(|(of, _)| contains(segment, of));
        own.any(|(of, layout)| is_enough(self.free(of, layout).piece))
    }
}

/// Raw bytes, and those of the largest piece where the driver tells one.
fn extent(layout: &Layout) -> (u128, Option<u128>) {
    match layout {
        Layout::Linear { capacity, largest } => (u128::from(*capacity), largest.map(u128::from)),
        Layout::Filesystem { size, used } => (u128::from(size.saturating_sub(*used)), Some(u128::MAX)),
        // No case has them that is judged by the specification.
        Layout::Devices(_) => (0, None),
    }
}

fn bytes(bytes: u128) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// A segment as a fact has it; without one, that of everything.
pub(super) fn parsed(plan: &Plan, segment: Option<&str>) -> Segment {
    let segment = segment.map(|text| plan.segments.parse(text));
    segment.and_then(Result::ok).unwrap_or_default()
}

/// Whether a call of GetCapacity for a segment and parameters is one that a script means.
fn is_about(script: &Script, segment: &Segment, parameters: &Parameters) -> bool {
    let mut wanted = script.parameters.iter();
    script.method == GET_CAPACITY
        && script.segment.as_ref().is_none_or(|of| contains(segment, of))
        && wanted.all(|(key, value)| parameters.get(key) == Some(value))
}
