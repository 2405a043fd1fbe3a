//! One expectation while its step runs: a small state machine over facts.
//!
//! A monitor never looks at a clock: bounds reach it as facts of the journal, so that a stored journal judges the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::pattern;
use super::predicate::{self};
use super::rows::DiffRow;
use super::settled::Scene;
use crate::cluster_state::{ClusterState, Rounds};
use crate::journal::{BoundKind, Fact, ProcessEvent, What};
use crate::oracle::Oracle;
use crate::plan::{Bound, Count, Expect, PUBLISHED, Pattern, Plan, Predicate, names_of};
use crate::scenario::Role;

/// Where a monitor stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not true yet.
    Waiting,
    /// True, and to stay so for its time, and until the systems have had their say.
    Holding,
    /// True for long enough; only silence is missing.
    Ripe,
    /// Shown.
    Met,
    /// Can no longer be shown.
    Failed(Reason),
}

/// Why an expectation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It did not become true in time.
    Late,
    /// A fact that must not be seen was seen.
    Violated,
    /// The fact that starts the window of a negative expectation was not seen.
    NoEvidence,
    /// The driver has answered something else, and is not called again.
    OtherAnswer,
    /// A role has ended with other words.
    OtherWords,
}

/// One expectation of the running step.
#[derive(Debug, Clone)]
pub(super) struct Monitor<'p> {
    pub(super) expect: &'p Expect,
    pub(super) phase: Phase,
    /// The fact that decided, or decided last.
    pub(super) decided_by: Option<u64>,
    /// Facts seen so far that the predicate counts: matches, or places in the order.
    pub(super) seen: u64,
    /// How many of them there may be by now.
    pub(super) limit: Option<u64>,
    /// The roles that have ended as they must.
    ended: BTreeSet<Role>,
    /// Whether the window of a negative expectation is open.
    anchored: bool,
    /// Since when it has been true.
    pub(super) since: Since,
}

/// Since when an expectation has been true, and what has come since.
#[derive(Debug, Clone, Default)]
pub(super) struct Since {
    /// Rounds at that time.
    before: Rounds,
    /// Journal time.
    pub(super) at_us: u64,
    /// How long the harness had been late up to then.
    pub(super) late: Duration,
    /// It has been true for as long as it must.
    held: bool,
    /// A publisher without a GetCapacity call up to now makes none.
    unasked: bool,
    /// A scheduler that has not tried a pod again up to now does not try.
    undecided: bool,
}

/// What all monitors of a step look at.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) plan: &'a Plan,
    pub(super) cluster: &'a ClusterState,
    pub(super) oracle: Option<&'a Oracle<'a>>,
    pub(super) scene: &'a Scene,
    /// Whether the fact that is looked at is a write that no expectation counts.
    pub(super) is_surplus: bool,
    pub(super) step_started: u64,
    /// Poll intervals since the step began.
    pub(super) refreshes: f64,
}

impl View<'_> {
    fn matches(&self, pattern: &Pattern, fact: &Fact) -> bool {
        !self.is_surplus && pattern::matches(self.plan, pattern, fact)
    }
}

impl<'p> Monitor<'p> {
    /// At the fact that starts the step.
    pub(super) fn new(expect: &'p Expect, view: View<'_>, fact: &Fact) -> Self {
        let anchored = !matches!(expect.predicate, Predicate::Never { after: Some(_), .. });
        let mut monitor = Monitor {
            expect,
            phase: Phase::Waiting,
            decided_by: None,
            seen: 0,
            limit: None,
            ended: BTreeSet::new(),
            anchored,
            since: Since::default(),
        };
        if monitor.is_satisfied_now() {
            monitor.start_holding(view, fact);
        }
        monitor
    }

    pub(super) fn rows(&self, plan: &Plan, cluster: &ClusterState) -> Vec<DiffRow> {
        predicate::evaluate(plan, cluster, &self.expect.predicate)
    }

    /// Takes one fact in; the view has it already.
    pub(super) fn observe(&mut self, view: View<'_>, fact: &Fact) {
        if matches!(self.phase, Phase::Failed(_)) {
            return;
        }
        match &self.expect.predicate {
            Predicate::Never { of, after } => self.observe_never(view, of, after.as_deref(), fact),
            Predicate::Count(count) => self.observe_count(view, count, fact),
            Predicate::Order(list) => self.observe_order(view, list, fact),
            Predicate::Ends(roles) => self.observe_end(view, roles, fact),
            _ => self.observe_state(view, fact),
        }
        self.ripen(view, fact);
    }

    /// From holding to ripe, from ripe to met; and back, where a system has to react to a change first.
    fn ripen(&mut self, view: View<'_>, fact: &Fact) {
        let has_acted = matches!(fact.what, What::StepActed(_));
        if has_acted && self.phase == Phase::Holding && self.expect.is_negative() {
            // Nothing that came before the last action speaks of the step.
            self.start_holding(view, fact);
        }
        match self.phase {
            Phase::Holding if self.has_held(view.cluster) && self.is_settled(view) => {
                self.phase = Phase::Ripe;
            }
            Phase::Ripe if !self.is_settled(view) => {
                self.phase = Phase::Holding;
                self.since.at_us = fact.at_us;
                self.since.late = view.scene.late;
            }
            Phase::Ripe if matches!(fact.what, What::Quiet) => self.decide(Phase::Met, fact),
            _ => {}
        }
    }

    fn has_held(&self, cluster: &ClusterState) -> bool {
        let rounds = |since: fn(&Rounds, &Rounds) -> u64| since(cluster.rounds(), &self.since.before);
        // The first of them may have begun before the state did.
        let more_than = |count: u32, seen: u64| count > 0 && seen > u64::from(count);
        self.since.held
            || match self.expect.hold {
                None => true,
                Some(Bound::Refreshes(count)) => more_than(count, rounds(Rounds::calls_since)),
                Some(Bound::Rounds(count)) => {
                    let attempts = rounds(Rounds::attempts_since);
                    more_than(count, attempts.max(rounds(Rounds::calls_since)))
                }
                Some(Bound::Time(_)) => false,
            }
    }

    /// Whether nothing is on its way any more that could make a negative expectation false.
    fn is_settled(&self, view: View<'_>) -> bool {
        !self.expect.is_negative() || (self.has_asked(view) && self.has_decided(view))
    }

    fn has_asked(&self, view: View<'_>) -> bool {
        self.since.unasked || view.scene.has_asked(view.plan, view.cluster, &self.since.before)
    }

    fn has_decided(&self, view: View<'_>) -> bool {
        let predicate = &self.expect.predicate;
        self.since.undecided || view.scene.has_decided(view.cluster, predicate, view.step_started)
    }

    /// The bounds that end a wait for the systems; none for a monitor that waits for itself.
    pub(super) fn pending(&self, view: View<'_>) -> Vec<BoundKind> {
        let mut pending = Vec::new();
        if self.phase == Phase::Holding {
            let is_negative = self.expect.is_negative();
            pending.extend((!self.has_held(view.cluster)).then_some(BoundKind::Hold));
            pending.extend((is_negative && !self.has_asked(view)).then_some(BoundKind::Unasked));
            pending.extend((is_negative && !self.has_decided(view)).then_some(BoundKind::Undecided));
        }
        pending
    }

    /// The bound that the harness reached for this monitor.
    pub(super) fn bound(&mut self, bound: BoundKind, view: View<'_>, fact: &Fact) {
        match (bound, &self.phase) {
            (BoundKind::Hold, Phase::Holding) => self.since.held = true,
            (BoundKind::Unasked, Phase::Holding) => self.since.unasked = true,
            (BoundKind::Undecided, Phase::Holding) => self.since.undecided = true,
            (BoundKind::Within, Phase::Waiting) => {
                let reason = if self.anchored {
                    Reason::Late
                } else {
                    Reason::NoEvidence
                };
                self.decide(Phase::Failed(reason), fact);
            }
            _ => {}
        }
        self.ripen(view, fact);
    }

    fn decide(&mut self, phase: Phase, fact: &Fact) {
        self.phase = phase;
        self.decided_by = Some(fact.seq);
    }

    fn observe_never(&mut self, view: View<'_>, of: &Pattern, after: Option<&Pattern>, fact: &Fact) {
        if self.anchored && view.matches(of, fact) {
            return self.decide(Phase::Failed(Reason::Violated), fact);
        }
        if !self.anchored && after.is_some_and(|after| view.matches(after, fact)) {
            self.anchored = true;
            self.start_holding(view, fact);
        }
    }

    fn observe_count(&mut self, view: View<'_>, count: &Count, fact: &Fact) {
        if !view.matches(&count.of, fact) {
            return;
        }
        self.seen += 1;
        self.limit = count.limit(view.refreshes);
        if self.limit.is_some_and(|limit| self.seen > limit) {
            return self.decide(Phase::Failed(Reason::Violated), fact);
        }
        self.satisfy(view, fact);
    }

    fn observe_order(&mut self, view: View<'_>, list: &[Pattern], fact: &Fact) {
        let next = usize::try_from(self.seen).ok().and_then(|seen| list.get(seen));
        if next.is_some_and(|next| view.matches(next, fact)) {
            self.seen += 1;
            self.satisfy(view, fact);
        }
    }

    fn observe_end(&mut self, view: View<'_>, roles: &BTreeMap<Role, String>, fact: &Fact) {
        let What::Process(process) = &fact.what else {
            return;
        };
        let (ProcessEvent::Exited(exit), Some(words)) = (&process.event, roles.get(&process.role)) else {
            return;
        };
        if !exit.to_string().contains(words) {
            return self.decide(Phase::Failed(Reason::OtherWords), fact);
        }
        self.ended.insert(process.role);
        self.satisfy(view, fact);
    }

    fn satisfy(&mut self, view: View<'_>, fact: &Fact) {
        self.decided_by = Some(fact.seq);
        if self.phase == Phase::Waiting && self.is_satisfied_now() {
            self.start_holding(view, fact);
        }
    }

    /// For predicates over facts: whether only silence is missing.
    fn is_satisfied_now(&self) -> bool {
        match &self.expect.predicate {
            Predicate::Never { .. } => self.anchored,
            Predicate::Count(count) => self.seen >= count.min,
            Predicate::Order(list) => self.seen >= list.len() as u64,
            Predicate::Ends(roles) => self.ended.len() == roles.len(),
            _ => false,
        }
    }

    fn observe_state(&mut self, view: View<'_>, fact: &Fact) {
        if !self.is_moved_by(&fact.what) {
            return;
        }
        let holds = match (&self.expect.predicate, view.oracle) {
            (Predicate::Specification, Some(oracle)) => oracle.is_settled(),
            (predicate, _) => predicate::is_true(view.plan, view.cluster, predicate),
        };
        match (&self.phase, holds) {
            (Phase::Waiting, true) => {
                self.decided_by = Some(fact.seq);
                self.start_holding(view, fact);
            }
            (Phase::Waiting, false) if self.expect.always => {
                self.decide(Phase::Failed(Reason::Violated), fact);
            }
            (Phase::Waiting, false) if self.has_other_answer(fact) => {
                self.decide(Phase::Failed(Reason::OtherAnswer), fact);
            }
            (Phase::Holding | Phase::Ripe | Phase::Met, false) => self.lost(fact),
            _ => {}
        }
    }

    /// Whether a fact may change whether it is true.
    fn is_moved_by(&self, what: &What) -> bool {
        if let Predicate::Metrics(_) = self.expect.predicate {
            return matches!(what, What::Metrics(_));
        }
        match what {
            What::Commit(_) | What::StepActed(_) | What::Answer(_) | What::Discovery(_) => true,
            // What there is in the driver counts, and who runs.
            What::Call(_) | What::Process(_) | What::Metrics(_) => {
                matches!(self.expect.predicate, Predicate::Specification)
            }
            _ => false,
        }
    }

    /// Whether all answers are there that decide: answers do not change once the questions are put. Published objects do.
    fn has_other_answer(&self, fact: &Fact) -> bool {
        let is_acted = matches!(fact.what, What::StepActed(_));
        is_acted
            && match &self.expect.predicate {
                Predicate::Answers(wanted) => !names_of(wanted).contains(PUBLISHED),
                Predicate::Served(_) => true,
                _ => false,
            }
    }

    fn start_holding(&mut self, view: View<'_>, fact: &Fact) {
        self.phase = Phase::Holding;
        self.since = Since {
            before: view.cluster.rounds().clone(),
            at_us: fact.at_us,
            late: view.scene.late,
            held: false,
            unasked: false,
            undecided: false,
        };
    }

    /// It was true, and is not any more.
    fn lost(&mut self, fact: &Fact) {
        if self.expect.always {
            self.decide(Phase::Failed(Reason::Violated), fact);
        } else {
            self.phase = Phase::Waiting;
        }
    }
}
