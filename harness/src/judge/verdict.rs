//! The result of a case. Does not know how it is computed.

use crate::expectation::{Chain, DiffRow};
use crate::journal::Exit;

/// The result of a case.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Every expectation of every step is met.
    Pass,
    /// An expectation is not met, or a system failed.
    Fail(Box<Failure>),
    /// A timeout, but the harness itself lagged: a busy host proves nothing.
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
#[derive(Debug, Clone)]
pub struct Failure {
    /// Index of the step.
    pub step: usize,
    /// Index of the expectation. None if a system exited or the journal is incomplete.
    pub expect: Option<usize>,
    /// The failure in one line.
    pub summary: String,
    /// Expected and actual values: all rows of the expectation.
    pub rows: Vec<DiffRow>,
    /// Unexpected exit of a system. None if there was none.
    pub exit: Option<Exit>,
    /// The first violated rule of the specification. None for explicit expectations.
    pub rule: Option<&'static capacity_spec::Rule>,
    /// The causal chain up to the first link without evidence.
    pub chain: Chain,
    /// Sequence number of the deciding fact.
    pub decided_by: u64,
    /// Sequence number of the step's first fact.
    pub step_started: u64,
}

/// Progress of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Needs more facts.
    Running {
        /// Whether all expectations hold, and only the end of all activity is awaited.
        quiet: bool,
    },
    /// The next step, or the end of the case, may follow.
    StepDone,
    /// The case has failed; further facts do not change that.
    Failed,
}
