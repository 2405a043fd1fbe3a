//! The verdict of a case. Does not know how it is computed.

use crate::expectation::{Chain, DiffRow};
use crate::journal::Exit;

/// The verdict of a case: passed, failed or inconclusive.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Every expectation of every step is met.
    Pass,
    /// An expectation is not met, or a program under test failed.
    Fail(Box<Failure>),
    /// A timeout expired while the harness lagged, so the program under test may not be at fault.
    Inconclusive(Box<Failure>),
}

impl Verdict {
    /// The failure, unless the case passed.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Verdict::Pass => None,
            Verdict::Fail(failure) | Verdict::Inconclusive(failure) => Some(failure),
        }
    }
}

/// Why a case failed, with its explanation.
#[derive(Debug, Clone, Default)]
pub struct Failure {
    /// Index of the failed step in the plan.
    pub step: usize,
    /// Index of the expectation in the step. None if a program exited or the journal is incomplete.
    pub expect: Option<usize>,
    /// The failure in one line.
    pub summary: String,
    /// Expected and actual values of the expectation.
    pub rows: Vec<DiffRow>,
    /// Unexpected exit of a program. None if no program exited.
    pub exit: Option<Exit>,
    /// The first violated rule of the specification. None for an explicit expectation.
    pub rule: Option<&'static capacity_spec::Rule>,
    /// The causal chain, up to the first event that no fact proves.
    pub chain: Chain,
    /// Sequence number of the deciding fact.
    pub decided_by: u64,
    /// Sequence number of the step's first fact.
    pub step_started: u64,
}

/// Progress of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The judge needs more facts to decide the step.
    Running {
        /// Whether all expectations hold, so that only the `Quiet` fact is missing.
        quiet: bool,
    },
    /// The step is done; the next step or the end of the case may follow.
    StepDone,
    /// The case has failed, whatever facts follow.
    Failed,
}
