//! What the judge says of a case. Does not know how it is found.

use crate::expectation::{Chain, DiffRow};
use crate::journal::Exit;

/// The result of a case.
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
    /// How a system ended that should not have; none: none did.
    pub exit: Option<Exit>,
    /// The rule of the specification that was broken first; none: the expectation is a case's own.
    pub rule: Option<&'static capacity_spec::Rule>,
    /// The causal chain up to the first link without evidence.
    pub chain: Chain,
    /// The fact that decided.
    pub decided_by: u64,
    /// First fact of the step.
    pub step_started: u64,
}

/// How far a case has come.
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
