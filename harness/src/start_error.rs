//! Why a case could not run, for reasons other than the program under test.

use std::time::Duration;

use crate::invocation::program;
use crate::machine::{self, Shortage};

/// An error of the environment or of a file of the harness, not of a program under test.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A socket or folder could not be created.
    #[error("cannot {what}: {source}; {}", machine::remedy(source, &std::env::temp_dir(), "set TMPDIR to another folder"))]
    Io {
        /// The file system or socket operation that failed.
        what: &'static str,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The API server rejected an object of the case.
    #[error("{source_file}: step `{step}`: the API server rejected “{action}”: {message}")]
    Refused {
        /// Path of the case file.
        source_file: String,
        /// Id of the step; `cluster` for the initial objects.
        step: String,
        /// Timeline text of the rejected action.
        action: String,
        /// Error message in the API server's response.
        message: String,
    },
    /// The host lacked a resource that the case needs, so the failure is not the fault of a program under test.
    #[error("the failure of the case is inconclusive, because the host lacks a resource: {0}")]
    Machine(#[from] Shortage),
    /// The harness can no longer use the real API server.
    #[error("the API server: {0}")]
    ApiServer(String),
    /// The external driver cannot be set up as the case requires.
    #[error("the case's driver: {0}")]
    Driver(String),
    /// A part of the harness panicked, so the result does not depend on a program under test.
    #[error("internal error: {part}; report the panic message on standard error together with the case")]
    Panicked {
        /// The part of the harness that panicked, and the request or call that the part handled.
        part: String,
    },
    /// The case exceeded the maximum duration.
    #[error(
        "the case did not end within {} s of simulated time, because programs never become idle; `{program} up` shows their activity",
        longest.as_secs(), program = program())]
    Endless {
        /// The maximum duration in simulated time.
        longest: Duration,
    },
    /// The caller stopped waiting for the case.
    #[error("the run was cancelled before its verdict")]
    Abandoned,
    /// The run has no program for a role that the case needs.
    #[error("{0}")]
    NoSystem(String),
}
