//! Determines the defects that cannot change the run of a case, because the case does not execute their code. In simulated time, a run with
//! such a defect is identical to the run without it, so the self-test skips it.
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

/// Builds the references without a defect for one run, together with a function that reports which mutants' code the run executed.
pub type Observe = dyn Fn() -> Observed + Send + Sync;

/// Systems and options for one run, and a function that reports which mutants' code the run executed.
pub struct Observed {
    /// The systems under test, without a defect.
    pub systems: Systems,
    /// Options of the run. Must have a seed: only in simulated time, a mutant whose code is not executed cannot change the run.
    pub options: RunOptions,
    /// Returns the mutants whose code the run executed. Called after the run.
    pub reached: ExecutedMutants,
}

/// The result of running a case without a defect.
pub(super) struct Baseline {
    pub(super) trial: Trial,
    /// Indices of the defects whose code the run did not execute.
    pub(super) unreached: BTreeSet<usize>,
}

/// The journal of a run without a defect, from which the defects that could change the run are determined.
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

    pub(super) fn may_change_run(&self, defect: &Defect) -> bool {
        // The journal lacks the start of the run, which the defect may have changed.
        if self.facts.first().is_none_or(|fact| fact.seq > 0) {
            return true;
        }
        if let Ok(environment_defect) = EnvironmentDefect::from_str(&defect.name) {
            return environment_defect.may_change_result(self.plan, &self.facts);
        }
        match defect.role() {
            Some(role) if !defect.wire.is_empty() => rules_apply(&defect.wire, role, self.plan, &self.facts),
            _ => self.mutants.contains(&*defect.name),
        }
    }
}
