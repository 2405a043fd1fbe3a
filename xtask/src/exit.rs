//! Exit codes. Scripts rely on them; they are listed in the README.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything that was required passed.
    Passed,
    /// A case failed.
    Failed,
    /// Wrong use, or a wrong file.
    Usage,
    /// The environment is not as it must be.
    Environment,
    /// Nothing was selected.
    Nothing,
    /// Nothing failed, but some cases could not be decided.
    Inconclusive,
    /// Nothing failed, but a part of the run is missing.
    Incomplete,
    /// Nothing failed, but a system broke a rule beside the point of the cases.
    Findings,
    /// The user interrupted the command.
    Interrupted,
    /// A part of this program panicked.
    Internal,
}

impl Exit {
    /// The number that the process ends with.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Passed => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Environment => 3,
            Exit::Nothing => 4,
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
