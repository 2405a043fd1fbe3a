//! Determines which defects a case cannot detect, because it does not execute their code: in simulated time, a run with such a defect is
//! identical to the run without it, and is skipped.
//!
//! Runs nothing; works on the result of a run.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use suites::harness::interposer::rules_apply;
use suites::harness::journal::Fact;
use suites::harness::plan::Plan;
use suites::harness::system::Systems;
use suites::harness::{Defect as EnvironmentDefect, Outcome, RunOptions};

use super::record::Trial;
use suites::{Defect, ExecutedMutants};

/// Builds the references without a defect for one run, and observes which code the run executes.
pub type Observe = dyn Fn() -> Observed + Send + Sync;

/// The references for one run, with a function that reports the executed mutants.
pub struct Observed {
    /// The systems.
    pub systems: Systems,
    /// Options of the run, with a random seed, because two runs are equal only in simulated time.
    pub options: RunOptions,
    /// Returns the mutants whose code the run executed.
    pub reached: ExecutedMutants,
}

/// Result of a case without a defect.
pub(super) struct Baseline {
    /// The run itself.
    pub(super) trial: Trial,
    /// Indices of the defects whose code the run did not execute.
    pub(super) unreached: BTreeSet<usize>,
}

/// Observations of a run without a defect.
pub(super) struct ObservedRun<'a> {
    plan: &'a Plan,
    facts: Vec<Fact>,
    mutants: BTreeSet<&'static str>,
}

impl<'a> ObservedRun<'a> {
    pub(super) fn of(plan: &'a Plan, outcome: &Outcome, mutants: BTreeSet<&'static str>) -> Self {
        ObservedRun {
            plan,
            facts: outcome.journal.since(0),
            mutants,
        }
    }

    /// Whether a run with the defect could differ from this one.
    pub(super) fn reaches(&self, defect: &Defect) -> bool {
        // The start of the journal was dropped, and could have made a difference.
        if self.facts.first().is_none_or(|fact| fact.seq > 0) {
            return true;
        }
        if let Ok(environment_defect) = EnvironmentDefect::from_str(&defect.name) {
            return environment_defect.shows(self.plan, &self.facts);
        }
        match defect.role() {
            Some(role) if !defect.wire.is_empty() => rules_apply(&defect.wire, role, self.plan, &self.facts),
            _ => self.mutants.contains(&*defect.name),
        }
    }
}
