//! Why a case could not be run. Says nothing about a system under test.

use std::time::Duration;

use crate::invocation::program;
use crate::machine::{self, Shortage};

/// The environment, or a file of ours, is not as it must be; says nothing about a system under test.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No socket or folder could be had.
    #[error("cannot {what}: {source}; {}", machine::remedy(source, &std::env::temp_dir(), "set TMPDIR to another folder"))]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The API server refused an object of the case.
    #[error("{source_file}: step `{step}`: the API server refuses “{action}”: {message}")]
    Refused {
        /// The case file.
        source_file: String,
        /// The step, or `cluster`.
        step: String,
        /// What the harness tried.
        action: String,
        /// The server's words.
        message: String,
    },
    /// The machine lacked a resource that the case needs, so its failure says nothing about a system.
    #[error("the case failed, but that proves nothing: {0}")]
    Machine(#[from] Shortage),
    /// The real API server can't be used any more.
    #[error("the API server: {0}")]
    ApiServer(String),
    /// The driver can't be set up as the case wants it.
    #[error("the case's driver: {0}")]
    Driver(String),
    /// A part of the harness panicked; what follows proves nothing about a system under test.
    #[error(
        "internal error: {part}; the panic message on standard error has the place. Report it with the case"
    )]
    Panicked {
        /// Which part panicked, and while handling what.
        part: String,
    },
    /// It goes on for ever.
    #[error(
        "it has not come to an end in {} s of simulated time: programs go on without end; `{program} up` shows what they do",
        longest.as_secs(), program = program())]
    Endless {
        /// How long it may take.
        longest: Duration,
    },
    /// Nobody waits for it any more.
    #[error("it was ended from outside before its verdict")]
    Abandoned,
    /// No system plays a role that the case needs.
    #[error("{0}")]
    NoSystem(String),
}
