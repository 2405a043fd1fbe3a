//! The judge: from a plan and facts to a verdict. A pure function, run live fact by fact and again over a stored journal.

mod answers;
mod chain;
mod monitor;
mod objects;
mod pattern;
mod predicate;

use std::time::Duration;

pub use chain::{Chain, Link};
pub use monitor::Reason;
pub use predicate::{DiffRow, RowState, spell_bytes};
pub(crate) use predicate::{Offer, row_key, spell_offer};

use crate::journal::{BoundFact, BoundKind, Fact, ProcessEvent, What};
use crate::plan::{Plan, Predicate};
use crate::world::World;
use monitor::{Monitor, Phase};

/// What a case came to.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Every expectation of every step was shown.
    Pass,
    /// Something was not as it must be.
    Fail(Box<Failure>),
    /// Something was late, but so was the harness itself: a busy machine proves nothing.
    Inconclusive(Box<Failure>),
}

impl Verdict {
    /// What was not as it must be.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Verdict::Pass => None,
            Verdict::Fail(failure) | Verdict::Inconclusive(failure) => Some(failure),
        }
    }
}

/// Why a case failed, with all that explains it.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Index of the step.
    pub step: usize,
    /// Index of the expectation; none when a system ended by itself or the journal is cut off.
    pub expect: Option<usize>,
    /// What went wrong, in one line.
    pub summary: String,
    /// Wanted against got, all rows of the expectation.
    pub rows: Vec<DiffRow>,
    /// The causal chain up to the first link without evidence.
    pub chain: Chain,
    /// The fact that decided.
    pub decided_by: u64,
    /// First fact of the step.
    pub step_started: u64,
}

/// What the judge needs to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More facts. `quiet`: nothing but silence is missing.
    Running {
        /// Nothing but silence is missing.
        quiet: bool,
    },
    /// The next step may begin, or the case may end.
    StepDone,
    /// The case has failed; no further fact changes that.
    Failed,
}

/// Judges the facts of one case as they come.
pub struct Judge<'p> {
    plan: &'p Plan,
    world: World,
    facts: Vec<Fact>,
    refresh: Duration,
    patience: f64,
    step: usize,
    step_started: u64,
    started_us: u64,
    acted_us: Option<u64>,
    monitors: Vec<Monitor<'p>>,
    failure: Option<Box<Failure>>,
}

/// However short the refresh: a system needs this long to do anything at all on a busy machine.
const FLOOR: Duration = Duration::from_secs(10);

/// So late in one step that being late says nothing about others.
const STARVED: Duration = Duration::from_secs(2);

/// However short the refresh: who has asked nothing for this long is taken not to ask.
const SILENCE: Duration = Duration::from_secs(3);

impl<'p> Judge<'p> {
    /// For a case that has not begun.
    pub fn new(plan: &'p Plan) -> Self {
        Judge {
            plan,
            world: World::default(),
            facts: Vec::new(),
            refresh: Duration::ZERO,
            patience: 1.0,
            step: 0,
            step_started: 0,
            started_us: 0,
            acted_us: None,
            monitors: Vec::new(),
            failure: None,
        }
    }

    /// Takes one fact in.
    pub fn observe(&mut self, fact: Fact) {
        self.world.apply(&fact);
        if self.failure.is_none() {
            self.judge(&fact);
        }
        self.facts.push(fact);
        // The explanation looks at the deciding fact as well, so it is made once that is in.
        if let Some(at) = self
            .monitors
            .iter()
            .position(|monitor| matches!(monitor.phase, Phase::Failed(_)))
            && self.failure.is_none()
        {
            self.failure = Some(Box::new(self.explain(at)));
        }
    }

    fn judge(&mut self, fact: &Fact) {
        match &fact.what {
            What::Begin(begin) => {
                self.refresh = Duration::from_micros(begin.refresh_us);
                self.patience = begin.patience;
            }
            What::StepStarted(mark) => self.start(mark.step, fact),
            What::StepActed(_) => self.acted_us = Some(fact.at_us),
            What::Bound(reached) => {
                if let Some(monitor) = self.monitors.get_mut(reached.expect)
                    && reached.step == self.step
                {
                    monitor.bound(reached.bound, fact);
                }
                return;
            }
            What::Process(process) => {
                let client = &process.client;
                let summary = match &process.event {
                    ProcessEvent::Exited(how) => format!("{client} ended by itself: {how}"),
                    ProcessEvent::NotReady(what) => format!("{client} was not ready: {what}"),
                    ProcessEvent::Flooded(what) => format!("{client} floods: {what} in one case"),
                    ProcessEvent::Started | ProcessEvent::Stopped => String::new(),
                };
                if !summary.is_empty() {
                    self.failure = Some(Box::new(self.crash(summary, fact.seq)));
                }
            }
            _ => {}
        }
        let since = Duration::from_micros(fact.at_us.saturating_sub(self.started_us));
        let refreshes = since.as_secs_f64() / self.refresh.as_secs_f64().max(f64::EPSILON);
        for monitor in &mut self.monitors {
            monitor.observe(self.plan, &self.world, fact, refreshes);
        }
    }

    fn start(&mut self, step: usize, fact: &Fact) {
        self.step = step;
        self.step_started = fact.seq;
        self.started_us = fact.at_us;
        self.acted_us = None;
        self.monitors = self
            .plan
            .steps
            .get(step)
            .into_iter()
            .flat_map(|step| &step.expect)
            .map(Monitor::new)
            .collect();
    }

    /// What is needed to go on.
    pub fn progress(&self) -> Progress {
        if self.failure.is_some() {
            return Progress::Failed;
        }
        if self.acted_us.is_none() {
            return Progress::Running { quiet: false };
        }
        if self.monitors.iter().all(|monitor| monitor.phase == Phase::Met) {
            return Progress::StepDone;
        }
        let quiet = self
            .monitors
            .iter()
            .all(|monitor| matches!(monitor.phase, Phase::Met | Phase::Ripe));
        Progress::Running { quiet }
    }

    /// The next moment, in journal time, at which a bound is reached.
    pub fn next_bound(&self) -> Option<(Duration, BoundFact)> {
        let acted = Duration::from_micros(self.acted_us?);
        let bounds = self.monitors.iter().enumerate().filter_map(|(expect, monitor)| {
            let fact = |bound| BoundFact {
                step: self.step,
                expect,
                bound,
            };
            match (&monitor.phase, monitor.expect.hold) {
                (Phase::Waiting, _) => {
                    let within = monitor.expect.within.time(self.refresh).max(FLOOR);
                    Some((acted + within.mul_f64(self.patience), fact(BoundKind::Within)))
                }
                (Phase::Holding { since_us, .. }, Some(hold)) => {
                    // A system that never asks again proves its silence by time.
                    let limit = match hold.count() {
                        0 => hold.time(self.refresh),
                        _ => (hold.time(self.refresh) * 3).max(SILENCE),
                    };
                    Some((
                        Duration::from_micros(*since_us) + limit.mul_f64(self.patience),
                        fact(BoundKind::Hold),
                    ))
                }
                _ => None,
            }
        });
        bounds.min_by_key(|(at, _)| *at)
    }

    /// The verdict over all facts so far.
    pub fn verdict(&self) -> Verdict {
        if let Some(failure) = &self.failure {
            return match self.was_starved(failure) {
                true => Verdict::Inconclusive(failure.clone()),
                false => Verdict::Fail(failure.clone()),
            };
        }
        if self.progress() == Progress::StepDone && self.step + 1 == self.plan.steps.len() {
            return Verdict::Pass;
        }
        Verdict::Fail(Box::new(Failure {
            step: self.step,
            expect: None,
            summary: "the journal ends before the case was decided".to_owned(),
            rows: Vec::new(),
            chain: Chain::default(),
            decided_by: self.facts.last().map_or(0, |fact| fact.seq),
            step_started: self.step_started,
        }))
    }

    /// Whether a bound decided while the harness did not get its share of the machine. What was seen and must not be
    /// counts in any case.
    fn was_starved(&self, failure: &Failure) -> bool {
        let is_late = |fact: &Fact| fact.seq == failure.decided_by && matches!(fact.what, What::Bound(_));
        let in_step = self.facts.iter().filter(|fact| fact.seq >= failure.step_started);
        let lag = in_step.map(|fact| match fact.what {
            What::Lag(lag) => Duration::from_micros(lag.late_us),
            _ => Duration::ZERO,
        });
        self.facts.iter().any(is_late) && lag.sum::<Duration>() > STARVED
    }

    /// All facts so far.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    fn crash(&self, summary: String, seq: u64) -> Failure {
        Failure {
            step: self.step,
            expect: None,
            summary,
            rows: Vec::new(),
            chain: Chain::default(),
            decided_by: seq,
            step_started: self.step_started,
        }
    }

    fn explain(&self, at: usize) -> Failure {
        let monitor = &self.monitors[at];
        let rows = monitor.rows(self.plan, &self.world);
        let window = chain::Window {
            plan: self.plan,
            world: &self.world,
            facts: &self.facts,
            from: self.step_started,
        };
        let decided_by = monitor.decided_by.unwrap_or_default();
        Failure {
            step: self.step,
            expect: Some(at),
            summary: summary(monitor, self.refresh),
            chain: window.chain(
                &monitor.expect.predicate,
                &rows,
                (monitor.seen, monitor.limit),
                decided_by,
            ),
            rows,
            decided_by,
            step_started: self.step_started,
        }
    }
}

fn summary(monitor: &Monitor<'_>, refresh: Duration) -> String {
    let within = monitor.expect.within;
    let late = || {
        format!(
            "not within {within} ({:?}, at least {FLOOR:?})",
            within.time(refresh)
        )
    };
    match (&monitor.phase, &monitor.expect.predicate) {
        (
            Phase::Failed(Reason::NoEvidence),
            Predicate::Never {
                after: Some(after), ..
            },
        ) => {
            format!(
                "no evidence: {} was not seen, so the window never opened",
                pattern::spell(after)
            )
        }
        (Phase::Failed(Reason::Violated), Predicate::Never { of, .. }) => {
            format!("seen, and must not be: {}", pattern::spell(of))
        }
        (Phase::Failed(Reason::Violated), Predicate::Count(count)) => {
            let limit = monitor.limit.unwrap_or_default();
            let seen = spell_seen(monitor.seen);
            format!(
                "{} was {seen}, and at most {limit} may be",
                pattern::spell(&count.of)
            )
        }
        (Phase::Failed(Reason::Told), _) => "the driver has told something else".to_owned(),
        (Phase::Failed(Reason::Violated), _) => "not true at every moment of the step".to_owned(),
        (_, Predicate::Count(count)) => {
            let seen = spell_seen(monitor.seen);
            format!("{}: {} was {seen}", late(), pattern::spell(&count.of))
        }
        (_, Predicate::Order(list)) => {
            format!(
                "{}: {} of {} facts were seen in their order",
                late(),
                monitor.seen,
                list.len()
            )
        }
        _ => late(),
    }
}

fn spell_seen(number: u64) -> String {
    match number {
        0 => "never seen".to_owned(),
        1 => "seen once".to_owned(),
        number => format!("seen {number} times"),
    }
}

/// Judges a whole journal.
pub fn verdict(plan: &Plan, facts: impl IntoIterator<Item = Fact>) -> Verdict {
    let mut judge = Judge::new(plan);
    for fact in facts {
        judge.observe(fact);
    }
    judge.verdict()
}
