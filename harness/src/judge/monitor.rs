//! The state of an expectation in the running step, as a state machine over facts.
//!
//! Reads no clock: deadlines are facts of the journal, so that a stored journal results in the same verdict.

use std::time::Duration;

use super::settled::Activity;
use crate::cluster_state::{ActivityCounts, ClusterState};
use crate::expectation::{Expect, Expectation, FactView, ObservationState, Observed, Predicate, Reason};
use crate::journal::{DeadlineKind, Fact, Observation};
use crate::oracle::Oracle;
use crate::plan::{Bound, Plan};

/// Progress of an expectation in the running step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// The condition of the expectation has not become true yet.
    Waiting,
    /// The condition is true. It must remain true for the hold time, and until the programs have reacted to the step.
    Holding,
    /// The condition was true long enough. The expectation is met at the next `Quiet` fact.
    AwaitingQuiet,
    Met,
    Failed(Reason),
}

/// The state of an expectation in the running step.
#[derive(Debug, Clone)]
pub(super) struct Monitor<'p> {
    pub(super) expect: &'p Expect,
    pub(super) phase: Phase,
    /// Sequence number of the fact that last changed the phase.
    pub(super) decided_by: Option<u64>,
    /// The facts that the expectation has observed so far. Unused for kinds that compare the cluster state.
    pub(super) seen: ObservationState,
    /// When the condition became true.
    pub(super) since: HoldProgress,
}

/// The moment when the condition became true, and the deadlines that have passed since.
#[derive(Debug, Clone, Default)]
pub(super) struct HoldProgress {
    /// Number of GetCapacity calls and scheduling attempts before the condition became true.
    rounds_before: ActivityCounts,
    /// Journal time at which the condition became true.
    pub(super) at_us: u64,
    /// Total harness lag before the condition became true.
    pub(super) lag: Duration,
    hold_elapsed: bool,
    /// Whether the publisher counts as idle, because it made no GetCapacity call until the deadline.
    publisher_idle: bool,
    /// Whether the scheduler counts as idle, because it retried no pod until the deadline.
    scheduler_idle: bool,
}

/// State that all monitors of a step share.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) plan: &'a Plan,
    pub(super) cluster: &'a ClusterState,
    pub(super) oracle: Option<&'a Oracle<'a>>,
    pub(super) activity: &'a Activity,
    /// Whether the current fact is a write that expectations ignore.
    pub(super) is_uncounted: bool,
    pub(super) step_started: u64,
    /// Number of poll intervals since the step began.
    pub(super) refreshes: f64,
}

impl<'a> View<'a> {
    fn fact_view(self) -> FactView<'a> {
        FactView {
            case: self.plan,
            is_uncounted: self.is_uncounted,
            refreshes: self.refreshes,
        }
    }
}

impl<'p> Monitor<'p> {
    /// Creates a monitor when the step starts.
    pub(super) fn new(expect: &'p Expect, view: View<'_>, fact: &Fact) -> Self {
        let mut monitor = Monitor {
            expect,
            phase: Phase::Waiting,
            decided_by: None,
            seen: ObservationState::default(),
            since: HoldProgress::default(),
        };
        if monitor.is_satisfied_now() {
            monitor.start_holding(view, fact);
        }
        monitor
    }

    fn kind(&self) -> &'p dyn Expectation {
        self.expect.predicate.kind()
    }

    fn is_satisfied_now(&self) -> bool {
        self.kind().is_satisfied(&self.seen).unwrap_or(false)
    }

    /// Processes a fact. The state in `view` already includes the fact.
    pub(super) fn observe(&mut self, view: View<'_>, fact: &Fact) {
        if matches!(self.phase, Phase::Failed(_)) {
            return;
        }
        match self.kind().is_satisfied(&self.seen) {
            Some(_) => self.observe_fact(view, fact),
            None => self.observe_state(view, fact),
        }
        self.advance(view, fact);
    }

    /// Changes the phase: from `Holding` through `AwaitingQuiet` to `Met`, or back to `Holding` if a program must first react to a change.
    fn advance(&mut self, view: View<'_>, fact: &Fact) {
        let has_acted = matches!(fact.what, Observation::StepActed(_));
        if has_acted && self.phase == Phase::Holding && self.expect.is_negative() {
            // The condition starts to hold with the last action, because facts before the action prove nothing for this step.
            self.start_holding(view, fact);
        }
        match self.phase {
            Phase::Holding if self.has_held(view.cluster) && self.is_settled(view) => {
                self.phase = Phase::AwaitingQuiet;
            }
            Phase::AwaitingQuiet if !self.is_settled(view) => {
                self.phase = Phase::Holding;
                self.since.at_us = fact.at_us;
                self.since.lag = view.activity.lag;
            }
            Phase::AwaitingQuiet if matches!(fact.what, Observation::Quiet) => self.decide(Phase::Met, fact),
            _ => {}
        }
    }

    fn has_held(&self, cluster: &ClusterState) -> bool {
        let rounds = |since: fn(&ActivityCounts, &ActivityCounts) -> u64| {
            since(cluster.rounds(), &self.since.rounds_before)
        };
        // The first GetCapacity call or scheduling attempt may have started before the condition became true, so it does not count.
        let more_than = |count: u32, seen: u64| count > 0 && seen > u64::from(count);
        self.since.hold_elapsed
            || match self.expect.hold {
                None => true,
                Some(Bound::Refreshes(count)) => more_than(count, rounds(ActivityCounts::calls_since)),
                Some(Bound::Rounds(count)) => {
                    let attempts = rounds(ActivityCounts::attempts_since);
                    more_than(count, attempts.max(rounds(ActivityCounts::calls_since)))
                }
                Some(Bound::Time(_)) => false,
            }
    }

    /// Whether the programs have reacted to the step, so that no pending reaction can violate a negative expectation.
    fn is_settled(&self, view: View<'_>) -> bool {
        !self.expect.is_negative() || (self.has_publisher_polled(view) && self.has_scheduler_decided(view))
    }

    fn has_publisher_polled(&self, view: View<'_>) -> bool {
        self.since.publisher_idle
            || view
                .activity
                .has_publisher_polled(view.plan, view.cluster, &self.since.rounds_before)
    }

    fn has_scheduler_decided(&self, view: View<'_>) -> bool {
        let predicate = &self.expect.predicate;
        self.since.scheduler_idle
            || view
                .activity
                .has_scheduler_decided(view.cluster, predicate, view.step_started)
    }

    /// The deadlines that have not passed yet for an expectation whose condition is true.
    pub(super) fn pending_bounds(&self, view: View<'_>) -> Vec<DeadlineKind> {
        let mut pending = Vec::new();
        if self.phase == Phase::Holding {
            let is_negative = self.expect.is_negative();
            pending.extend((!self.has_held(view.cluster)).then_some(DeadlineKind::Hold));
            pending.extend(
                (is_negative && !self.has_publisher_polled(view)).then_some(DeadlineKind::PublisherIdle),
            );
            pending.extend(
                (is_negative && !self.has_scheduler_decided(view)).then_some(DeadlineKind::SchedulerIdle),
            );
        }
        pending
    }

    pub(super) fn reach_bound(&mut self, bound: DeadlineKind, view: View<'_>, fact: &Fact) {
        match (bound, &self.phase) {
            (DeadlineKind::Hold, Phase::Holding) => self.since.hold_elapsed = true,
            (DeadlineKind::PublisherIdle, Phase::Holding) => self.since.publisher_idle = true,
            (DeadlineKind::SchedulerIdle, Phase::Holding) => self.since.scheduler_idle = true,
            (DeadlineKind::Within, Phase::Waiting) => {
                self.decide(Phase::Failed(self.kind().timeout_reason()), fact);
            }
            _ => {}
        }
        self.advance(view, fact);
    }

    fn decide(&mut self, phase: Phase, fact: &Fact) {
        self.phase = phase;
        self.decided_by = Some(fact.seq);
    }

    fn observe_fact(&mut self, view: View<'_>, fact: &Fact) {
        let kind = self.kind();
        match kind.observe(&mut self.seen, view.fact_view(), fact) {
            Observed::Nothing => {}
            Observed::Failed(reason) => self.decide(Phase::Failed(reason), fact),
            Observed::Counted => {
                self.decided_by = Some(fact.seq);
                if self.phase == Phase::Waiting && self.is_satisfied_now() {
                    self.start_holding(view, fact);
                }
            }
        }
    }

    fn observe_state(&mut self, view: View<'_>, fact: &Fact) {
        if !self.kind().is_affected_by(&fact.what) {
            return;
        }
        let holds = match (&self.expect.predicate, view.oracle) {
            (Predicate::Specification, Some(oracle)) => oracle.is_settled(),
            _ => self.kind().holds(view.plan, view.cluster),
        };
        match (&self.phase, holds) {
            (Phase::Waiting, true) => {
                self.decided_by = Some(fact.seq);
                self.start_holding(view, fact);
            }
            (Phase::Waiting, false) if self.expect.always => {
                self.decide(Phase::Failed(Reason::Violated), fact);
            }
            (Phase::Waiting, false) if self.has_other_response(fact) => {
                self.decide(Phase::Failed(Reason::OtherResponse), fact);
            }
            (Phase::Holding | Phase::AwaitingQuiet | Phase::Met, false) => self.lose_condition(fact),
            _ => {}
        }
    }

    /// Whether all driver responses have arrived and one of them differs from the expected one.
    fn has_other_response(&self, fact: &Fact) -> bool {
        matches!(fact.what, Observation::StepActed(_)) && self.kind().is_decided_by_actions()
    }

    fn start_holding(&mut self, view: View<'_>, fact: &Fact) {
        self.phase = Phase::Holding;
        self.since = HoldProgress {
            rounds_before: view.cluster.rounds().clone(),
            at_us: fact.at_us,
            lag: view.activity.lag,
            hold_elapsed: false,
            publisher_idle: false,
            scheduler_idle: false,
        };
    }

    /// Fails an `always` expectation whose condition is no longer true. For other expectations, the phase becomes `Waiting`.
    fn lose_condition(&mut self, fact: &Fact) {
        if self.expect.always {
            self.decide(Phase::Failed(Reason::Violated), fact);
        } else {
            self.phase = Phase::Waiting;
        }
    }
}
