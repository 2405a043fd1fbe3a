//! Why a case could not run. Says nothing about a system under test.

use std::time::Duration;

use crate::invocation::program;
use crate::machine::{self, Shortage};

/// A problem of the environment or of a file of the harness, not of a system under test.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A socket or folder could not be created.
    #[error("cannot {what}: {source}; {}", machine::remedy(source, &std::env::temp_dir(), "set TMPDIR to another folder"))]
    Io {
        /// The failed operation.
        what: &'static str,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The API server rejected an object of the case.
    #[error("{source_file}: step `{step}`: the API server rejected “{action}”: {message}")]
    Refused {
        /// Path of the case file.
        source_file: String,
        /// Id of the step, or `cluster`.
        step: String,
        /// The action of the case.
        action: String,
        /// Message of the API server.
        message: String,
    },
    /// The host lacked a resource that the case needs, so its failure says nothing about a system.
    #[error("the failure of the case is inconclusive, because the host lacks a resource: {0}")]
    Machine(#[from] Shortage),
    /// The real API server cannot be used any more.
    #[error("the API server: {0}")]
    ApiServer(String),
    /// The driver cannot be set up as the case requires.
    #[error("the case's driver: {0}")]
    Driver(String),
    /// A part of the harness panicked; the result says nothing about a system under test.
    #[error("internal error: {part}; report the panic message on standard error together with the case")]
    Panicked {
        /// The part that panicked, and what it handled.
        part: String,
    },
    /// The case does not end.
    #[error(
        "the case did not end within {} s of simulated time, because programs never become idle; `{program} up` shows their activity",
        longest.as_secs(), program = program())]
    Endless {
        /// Maximum duration.
        longest: Duration,
    },
    /// The caller stopped waiting for the case.
    #[error("the run was cancelled before its verdict")]
    Abandoned,
    /// No system has a role that the case needs.
    #[error("{0}")]
    NoSystem(String),
}
