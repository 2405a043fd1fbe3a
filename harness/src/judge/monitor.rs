//! One expectation while its step runs: a small state machine over facts.
//!
//! A monitor never looks at a clock: bounds reach it as facts of the journal, so that a stored journal judges the same.

use std::collections::BTreeMap;

use super::pattern;
use super::predicate::{self, DiffRow};
use crate::journal::{BoundKind, Fact, What};
use crate::plan::{Count, Expect, PUBLISHED, Pattern, Plan, Predicate, names_of};
use crate::world::World;

/// Where a monitor stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not true yet.
    Waiting,
    /// True, and to stay so until the system has asked often enough again.
    Holding {
        /// Rounds when it became true.
        before: BTreeMap<String, u64>,
        /// Journal time when it became true.
        since_us: u64,
    },
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
    /// The driver has told something else, and is asked no more.
    Told,
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
    /// Whether the window of a negative expectation is open.
    anchored: bool,
}

impl<'p> Monitor<'p> {
    pub(super) fn new(expect: &'p Expect) -> Self {
        let anchored = !matches!(expect.predicate, Predicate::Never { after: Some(_), .. });
        let mut monitor = Monitor {
            expect,
            phase: Phase::Waiting,
            decided_by: None,
            seen: 0,
            limit: None,
            anchored,
        };
        if monitor.is_satisfied_now() {
            monitor.phase = Phase::Ripe;
        }
        monitor
    }

    pub(super) fn rows(&self, plan: &Plan, world: &World) -> Vec<DiffRow> {
        predicate::evaluate(plan, world, &self.expect.predicate)
    }

    /// Takes one fact in, so many refreshes after the step began; `world` has it already.
    pub(super) fn observe(&mut self, plan: &Plan, world: &World, fact: &Fact, refreshes: f64) {
        if matches!(self.phase, Phase::Failed(_)) {
            return;
        }
        match &self.expect.predicate {
            Predicate::Never { of, after } => self.observe_never(plan, of, after.as_deref(), fact),
            Predicate::Count(count) => self.observe_count(plan, count, fact, refreshes),
            Predicate::Order(list) => self.observe_order(plan, list, fact),
            _ => self.observe_state(plan, world, fact),
        }
        if fact_is_quiet(fact) && self.phase == Phase::Ripe {
            self.decide(Phase::Met, fact);
        }
    }

    /// The bound that the harness reached for this monitor.
    pub(super) fn bound(&mut self, bound: BoundKind, fact: &Fact) {
        match (bound, &self.phase) {
            (BoundKind::Hold, Phase::Holding { .. }) => self.phase = Phase::Ripe,
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
    }

    fn decide(&mut self, phase: Phase, fact: &Fact) {
        self.phase = phase;
        self.decided_by = Some(fact.seq);
    }

    fn observe_never(&mut self, plan: &Plan, of: &Pattern, after: Option<&Pattern>, fact: &Fact) {
        if self.anchored && pattern::matches(plan, of, fact) {
            return self.decide(Phase::Failed(Reason::Violated), fact);
        }
        if !self.anchored && after.is_some_and(|after| pattern::matches(plan, after, fact)) {
            self.anchored = true;
            self.phase = Phase::Ripe;
        }
    }

    fn observe_count(&mut self, plan: &Plan, count: &Count, fact: &Fact, refreshes: f64) {
        if !pattern::matches(plan, &count.of, fact) {
            return;
        }
        self.seen += 1;
        self.limit = count.limit(refreshes);
        if self.limit.is_some_and(|limit| self.seen > limit) {
            return self.decide(Phase::Failed(Reason::Violated), fact);
        }
        self.ripen(fact);
    }

    fn observe_order(&mut self, plan: &Plan, list: &[Pattern], fact: &Fact) {
        let next = usize::try_from(self.seen).ok().and_then(|seen| list.get(seen));
        if next.is_some_and(|next| pattern::matches(plan, next, fact)) {
            self.seen += 1;
            self.ripen(fact);
        }
    }

    fn ripen(&mut self, fact: &Fact) {
        self.decided_by = Some(fact.seq);
        if self.phase == Phase::Waiting && self.is_satisfied_now() {
            self.phase = Phase::Ripe;
        }
    }

    /// For predicates over facts: whether only silence is missing.
    fn is_satisfied_now(&self) -> bool {
        match &self.expect.predicate {
            Predicate::Never { .. } => self.anchored,
            Predicate::Count(count) => self.seen >= count.min,
            Predicate::Order(list) => self.seen >= list.len() as u64,
            _ => false,
        }
    }

    fn observe_state(&mut self, plan: &Plan, world: &World, fact: &Fact) {
        let moves_state = matches!(fact.what, What::Commit(_) | What::StepActed(_) | What::Answer(_));
        if moves_state {
            let holds = predicate::is_true(plan, world, &self.expect.predicate);
            match (&self.phase, holds) {
                (Phase::Waiting, true) => self.start_holding(world, fact),
                (Phase::Waiting, false) if self.expect.always => {
                    self.decide(Phase::Failed(Reason::Violated), fact);
                }
                (Phase::Waiting, false) if self.is_told(fact) => {
                    self.decide(Phase::Failed(Reason::Told), fact);
                }
                (Phase::Holding { .. } | Phase::Ripe | Phase::Met, false) => self.lost(fact),
                _ => {}
            }
        }
        if let (Phase::Holding { before, .. }, Some(hold)) = (&self.phase, self.expect.hold)
            && hold.count() > 0
            // The first of them may have begun before the state did.
            && world.rounds_since(before) > u64::from(hold.count())
        {
            self.phase = Phase::Ripe;
        }
    }

    /// Whether all has been told that decides: answers do not change once the questions are put. Published objects do.
    fn is_told(&self, fact: &Fact) -> bool {
        let Predicate::Answers(wanted) = &self.expect.predicate else {
            return false;
        };
        let is_acted = matches!(fact.what, What::StepActed(_));
        is_acted && !names_of(wanted).contains(PUBLISHED)
    }

    fn start_holding(&mut self, world: &World, fact: &Fact) {
        self.decided_by = Some(fact.seq);
        self.phase = match self.expect.hold {
            Some(_) => Phase::Holding {
                before: world.rounds().clone(),
                since_us: fact.at_us,
            },
            None => Phase::Ripe,
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

fn fact_is_quiet(fact: &Fact) -> bool {
    matches!(fact.what, What::Quiet)
}
