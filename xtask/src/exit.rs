//! Exit codes of all commands. Scripts rely on them; docs/report.md lists them.

use std::fmt::Display;
use std::process::ExitCode;

use crate::out::eprintln;

/// The outcome of a command, which determines its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All required cases passed.
    Passed,
    /// At least one case failed.
    Failed,
    /// Invalid arguments, or an invalid file.
    Usage,
    /// The environment does not provide what the command needs.
    Environment,
    /// No case was selected.
    NoCases,
    /// No case failed, but for some of them the machine was too busy for a verdict.
    Inconclusive,
    /// No case failed, but some cases or shards of the run have no result.
    Incomplete,
    /// No case failed, but a system violated a rule that no case was testing.
    Findings,
    /// The user interrupted the command.
    Interrupted,
    /// The harness panicked.
    Internal,
}

impl Exit {
    /// The exit status of the process.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Passed => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Environment => 3,
            Exit::NoCases => 4,
            Exit::Inconclusive => 5,
            Exit::Incomplete => 6,
            Exit::Findings => 7,
            Exit::Interrupted => 130,
            Exit::Internal => 70,
        }
    }

    /// Prints an error, and returns this exit code.
    pub(crate) fn with_error(self, error: impl Display) -> Self {
        eprintln!("error: {error}");
        self
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
