//! Exit codes of all commands. Scripts rely on them; docs/report.md lists them.

use std::process::ExitCode;

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
    /// No case failed, but a part of the run is missing.
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
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
