//! Which defects a case never comes to: in simulated time, a run with one of them is the run without it, step by step, and need not be made.
//!
//! Knows no run; it is told what came of one.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use suites::harness::interposer::are_met;
use suites::harness::journal::Fact;
use suites::harness::plan::Plan;
use suites::harness::system::Systems;
use suites::harness::{Defect as SurroundingsDefect, Outcome, RunOptions};

use super::record::Trial;
use suites::{Defect, Reached};

/// The references in good health, for one run.
pub type Observe = dyn Fn() -> Observed + Send + Sync;

/// References that are watched.
pub struct Observed {
    /// Who runs.
    pub systems: Systems,
    /// How; with a seed, for in real time no two runs are the same.
    pub options: RunOptions,
    /// What tells what the run has come past.
    pub reached: Reached,
}

/// What is known of a case by a run in good health.
pub(super) struct Healthy {
    /// The run itself.
    pub(super) trial: Trial,
    /// The defects that it never came to, by index.
    pub(super) unreached: BTreeSet<usize>,
}

/// A run in good health.
pub(super) struct Seen<'a> {
    plan: &'a Plan,
    facts: Vec<Fact>,
    mistakes: BTreeSet<&'static str>,
}

impl<'a> Seen<'a> {
    pub(super) fn of(plan: &'a Plan, outcome: &Outcome, mistakes: BTreeSet<&'static str>) -> Self {
        Seen {
            plan,
            facts: outcome.journal.since(0),
            mistakes,
        }
    }

    /// Whether the run with the defect may be another one.
    pub(super) fn reaches(&self, defect: &Defect) -> bool {
        // What the journal does not have any more may be what matters.
        if self.facts.first().is_none_or(|fact| fact.seq > 0) {
            return true;
        }
        if let Ok(surroundings) = SurroundingsDefect::from_str(&defect.name) {
            return surroundings.shows(self.plan, &self.facts);
        }
        match defect.role() {
            Some(role) if !defect.wire.is_empty() => are_met(&defect.wire, role, self.plan, &self.facts),
            _ => self.mistakes.contains(&*defect.name),
        }
    }
}
