//! The judge: from a plan and facts to a verdict. A pure function, run live fact by fact and again over a stored journal.

mod answers;
mod diagnosis;
mod findings;
mod lateness;
mod monitor;
mod objects;
mod pattern;
mod predicate;
mod rows;
mod settled;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use diagnosis::{Chain, Link};
pub use findings::{Finding, RULES, Rule, findings};
pub use monitor::Reason;
pub use rows::{DiffRow, RowState, Subject};
pub(crate) use rows::{Offer, format_offer, row_key};

use crate::cluster_state::ClusterState;
use crate::journal::{BoundFact, BoundKind, Fact, ProcessEvent, What};
use crate::plan::{Bound, Expect, Plan, Predicate};
use monitor::{Monitor, Phase, View};
use settled::Scene;

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
    cluster: ClusterState,
    scene: Scene,
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

/// However short the refresh: a publisher that has asked nothing for this long, and for [`MISSED`] refreshes, is taken not to ask.
const UNASKED: Duration = Duration::from_secs(1);
const MISSED: u32 = 10;

/// A scheduler that has not tried a pod again for this long is taken not to try: longer than the back-off of kube-scheduler as its
/// manifest sets it, and the second that its queue takes to notice the end of one.
const UNDECIDED: Duration = Duration::from_secs(3);

/// However short the refresh: who has asked nothing for this long while something must hold for some rounds will not.
const SILENCE: Duration = Duration::from_secs(3);

/// Where the harness was late others were too, so that silence means less: it has to last longer by so many times that, ...
const SLOWED: u32 = 2;
/// ... and by so many times itself at the most.
const SLOWEST: u32 = 2;

impl<'p> Judge<'p> {
    /// For a case that has not begun.
    pub fn new(plan: &'p Plan) -> Self {
        Judge {
            plan,
            cluster: ClusterState::default(),
            scene: Scene::default(),
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
        self.cluster.apply(&fact);
        self.scene.apply(&fact);
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
                let reached = *reached;
                if reached.step == self.step {
                    self.each_monitor(fact, |at, monitor, view| {
                        if at == reached.expect {
                            monitor.bound(reached.bound, view, fact);
                        }
                    });
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
        self.each_monitor(fact, |_, monitor, view| monitor.observe(view, fact));
    }

    fn each_monitor(&mut self, fact: &Fact, mut each: impl FnMut(usize, &mut Monitor<'p>, View<'_>)) {
        let mut monitors = std::mem::take(&mut self.monitors);
        let view = self.view(fact);
        for (at, monitor) in monitors.iter_mut().enumerate() {
            each(at, monitor, view);
        }
        self.monitors = monitors;
    }

    /// What monitors see at a fact.
    fn view(&self, fact: &Fact) -> View<'_> {
        self.view_at(fact.at_us)
    }

    fn view_at(&self, at_us: u64) -> View<'_> {
        let since = Duration::from_micros(at_us.saturating_sub(self.started_us));
        View {
            plan: self.plan,
            cluster: &self.cluster,
            scene: &self.scene,
            step_started: self.step_started,
            refreshes: since.as_secs_f64() / self.refresh.as_secs_f64().max(f64::EPSILON),
        }
    }

    fn start(&mut self, step: usize, fact: &Fact) {
        self.step = step;
        self.step_started = fact.seq;
        self.started_us = fact.at_us;
        self.acted_us = None;
        let expectations = self
            .plan
            .steps
            .get(step)
            .into_iter()
            .flat_map(|step| &step.expect);
        let view = self.view(fact);
        self.monitors = expectations
            .map(|expect| Monitor::new(expect, view, fact))
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
        let view = self.view_at(self.started_us);
        let bounds = self.monitors.iter().enumerate().flat_map(|(expect, monitor)| {
            let (since, pending) = monitor.pending(view);
            let late = self.scene.late.saturating_sub(since.late);
            let waits = pending.into_iter().map(move |bound| {
                let limit = self.limit(monitor.expect, bound).mul_f64(self.patience);
                let slowed = match bound {
                    BoundKind::Hold => Duration::ZERO,
                    _ => (late * SLOWED).min(limit * SLOWEST),
                };
                let from = match bound {
                    BoundKind::Unasked => since.at_us.max(self.scene.asked_us),
                    _ => since.at_us,
                };
                (Duration::from_micros(from) + limit + slowed, bound)
            });
            let within = (monitor.phase == Phase::Waiting).then(|| {
                let limit = self.limit(monitor.expect, BoundKind::Within);
                (acted + limit.mul_f64(self.patience), BoundKind::Within)
            });
            waits.chain(within).map(move |(at, bound)| {
                let step = self.step;
                (at, BoundFact { step, expect, bound })
            })
        });
        bounds.min_by_key(|(at, _)| *at)
    }

    /// How long an expectation, or what it waits for, may take.
    fn limit(&self, expect: &Expect, bound: BoundKind) -> Duration {
        match (bound, expect.hold) {
            (BoundKind::Within, _) => expect.within.time(self.refresh).max(FLOOR),
            (BoundKind::Unasked, _) => (self.refresh * MISSED).max(UNASKED),
            (BoundKind::Undecided, _) => UNDECIDED,
            (BoundKind::Hold, Some(Bound::Time(time))) => time,
            // A system that never asks again proves its silence by time.
            (BoundKind::Hold, Some(rounds)) => (rounds.time(self.refresh) * 3).max(SILENCE),
            (BoundKind::Hold, None) => Duration::ZERO,
        }
    }

    /// The verdict over all facts so far.
    pub fn verdict(&self) -> Verdict {
        if let Some(failure) = &self.failure {
            return match lateness::excuses(&self.facts, failure) {
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
        let rows = monitor.rows(self.plan, &self.cluster);
        let window = diagnosis::Window {
            plan: self.plan,
            cluster: &self.cluster,
            facts: &self.facts,
            from: self.step_started,
        };
        let decided_by = monitor.decided_by.unwrap_or_default();
        Failure {
            step: self.step,
            expect: Some(at),
            summary: summary(monitor, self.refresh, self.patience),
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

fn summary(monitor: &Monitor<'_>, refresh: Duration, patience: f64) -> String {
    let late = || timed_out(monitor.expect.within, refresh, patience);
    match (&monitor.phase, &monitor.expect.predicate) {
        (
            Phase::Failed(Reason::NoEvidence),
            Predicate::Never {
                after: Some(after), ..
            },
        ) => {
            format!(
                "no evidence: {} was not seen, so the window never opened",
                pattern::format(after)
            )
        }
        (Phase::Failed(Reason::Violated), Predicate::Never { of, .. }) => {
            format!("seen, and must not be: {}", pattern::format(of))
        }
        (Phase::Failed(Reason::Violated), Predicate::Count(count)) => {
            let limit = monitor.limit.unwrap_or_default();
            let seen = format_seen(monitor.seen);
            format!(
                "{} was {seen}; at most {limit} allowed",
                pattern::format(&count.of)
            )
        }
        (Phase::Failed(Reason::Told), _) => "the driver answered something else".to_owned(),
        (Phase::Failed(Reason::Violated), _) => "not true at every moment of the step".to_owned(),
        (_, Predicate::Count(count)) => {
            let seen = format_seen(monitor.seen);
            format!("{}: {} was {seen}", late(), pattern::format(&count.of))
        }
        (_, Predicate::Order(list)) => {
            format!(
                "{}: {} of {} events were seen in this order",
                late(),
                monitor.seen,
                list.len()
            )
        }
        _ => late(),
    }
}

/// That a bound passed: the time that it came to, and what the case says.
fn timed_out(within: Bound, refresh: Duration, patience: f64) -> String {
    let limit = within.time(refresh).max(FLOOR).mul_f64(patience);
    let mut terms = Vec::new();
    if !matches!(within, Bound::Time(_)) {
        terms.push(within.to_string());
    }
    if within.time(refresh) < FLOOR {
        terms.push(format!("at least {}", seconds(FLOOR)));
    }
    if patience != 1.0 {
        terms.push(format!("times a patience of {patience}"));
    }
    match terms.is_empty() {
        true => format!("timed out after {}", seconds(limit)),
        false => format!("timed out after {} ({})", seconds(limit), terms.join(", ")),
    }
}

/// A time as people write it, with its unit.
fn seconds(time: Duration) -> String {
    let milliseconds = time.as_millis();
    match milliseconds % 1000 {
        0 => format!("{} s", milliseconds / 1000),
        _ if milliseconds < 1000 => format!("{milliseconds} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

fn format_seen(number: u64) -> String {
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
