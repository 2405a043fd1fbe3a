//! The command line of csi-capacity-harness, as a library: the built-in systems and the commands.
//!
//! Thin: what a command does lives in `suites` and `harness`.

mod accept;
mod apiserver;
mod args;
mod bench;
mod built_in;
mod capture;
mod chosen;
mod command;
mod conformance;
mod e2e;
mod exit;
mod follow;
mod github;
mod inspect;
mod interrupt;
mod keep;
mod manifest;
mod measure;
mod out;
mod preflight;
mod report;
mod repro;
mod rerun;
mod runner;
mod runtime;
mod selected;
mod selftest;
mod serve;
mod side_by_side;
mod snapshot;
mod summary;
mod up;
mod verdicts;
mod why;

pub use built_in::{Defect, built_in, defects};
pub use exit::Exit;

/// Does what the arguments of the process say. A panic is ours, and goes on.
pub fn run() -> Exit {
    std::panic::catch_unwind(command::run).unwrap_or_else(|panic| match panic.is::<out::Unwritable>() {
        // It is reported already.
        true => Exit::Environment,
        false => std::panic::resume_unwind(panic),
    })
}
