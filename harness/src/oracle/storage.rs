//! What the driver of a case has to answer: from the storage that the case describes, what volumes were seen to take of it, and what the
//! driver is told to say instead.
//!
//! Worked out from the case's own words and from answered calls. Deliberately absent: the code of the driver, and storage that is laid out
//! in devices.

use std::collections::BTreeMap;

use capacity_spec::volumes::Backend;
use capacity_spec::world::{Answer, Figures, Parameters};
use capacity_types::Segment;
use fake_csi::Storage as Layout;

use crate::journal::CallFact;
use crate::plan::{Action, Effect, Plan, Script};
use crate::scenario::Role;

/// The storage of a case, at one point of its journal.
pub(super) struct Storage<'p> {
    plan: &'p Plan,
    pools: BTreeMap<Segment, Layout>,
    /// What each volume takes, by its id in the driver: of which segment, and how many raw bytes.
    taken: BTreeMap<String, (Segment, u128)>,
    /// What the driver is told about GetCapacity for as long as that is in force.
    scripts: Vec<&'p Script>,
    is_down: bool,
    /// What the driver is told about CreateVolume and DeleteVolume for as long as that is in force.
    hindrances: Vec<&'p Script>,
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
            hindrances: Vec::new(),
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
            Action::Script(script) if script.method == "GetCapacity" && script.times.is_none() => {
                self.scripts.push(script);
            }
            Action::Script(script) if script.times.is_none() => self.hindrances.push(script),
            Action::Unscript(name) => {
                for list in [&mut self.scripts, &mut self.hindrances] {
                    list.retain(|script| script.id.as_ref() != Some(name));
                }
            }
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
            let segment = placed
                .segment
                .as_deref()
                .map(|text| self.plan.segments.parse(text));
            let segment = segment.and_then(Result::ok).unwrap_or_default();
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
            None | Some(Effect::Delay(_)) => Answer::Figures(self.figures(segment, parameters)),
            Some(Effect::Answer {
                available, maximum, ..
            }) => Answer::Figures(Figures { available, maximum }),
            Some(Effect::Code(_) | Effect::Hang | Effect::Disconnect | Effect::LoseAnswer) => Answer::error(),
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
            let (free, largest) = self.free(of, layout);
            tells &= largest.is_some();
            let piece = bytes(free.min(largest.unwrap_or(u128::MAX)) / cost);
            figures.available = figures.available.saturating_add(bytes(free / cost));
            figures.maximum = figures.maximum.max(Some(piece));
        }
        figures.maximum = figures.maximum.filter(|_| tells);
        figures
    }

    /// Raw bytes that volumes leave of a pool, and those of its largest piece where the driver tells one.
    fn free(&self, of: &Segment, layout: &Layout) -> (u128, Option<u128>) {
        let (capacity, largest) = extent(layout);
        let taken = self.taken.values().filter(|(at, _)| at == of);
        let taken = taken.fold(0_u128, |sum, (_, raw)| sum.saturating_add(*raw));
        (capacity.saturating_sub(taken), largest)
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
        let is_harmless = |script: &&Script| matches!(script.effect, Effect::Delay(_));
        !self.is_down && self.hindrances.iter().all(is_harmless)
    }

    fn has_room(&self, segment: &Segment, parameters: &Parameters, wanted: i128) -> bool {
        let cost = self.cost(parameters);
        let own = self.pools.iter().filter(|(of, _)| contains(segment, of));
        own.into_iter().any(|(of, layout)| {
            let (free, largest) = self.free(of, layout);
            let room = free.min(largest.unwrap_or(u128::MAX)) / cost;
            u128::try_from(wanted).is_ok_and(|wanted| wanted <= room)
        })
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

/// Whether a segment has all pairs of another.
fn contains(segment: &Segment, other: &Segment) -> bool {
    other.iter().all(|(key, value)| segment.get(key) == Some(value))
}

/// Whether a call for a segment and parameters is one that a script means. A delay changes no answer.
fn is_about(script: &Script, segment: &Segment, parameters: &Parameters) -> bool {
    let mut wanted = script.parameters.iter();
    !matches!(script.effect, Effect::Delay(_))
        && script.segment.as_ref().is_none_or(|of| contains(segment, of))
        && wanted.all(|(key, value)| parameters.get(key) == Some(value))
}
