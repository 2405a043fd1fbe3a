//! The command line of csi-capacity-harness, as a library: the built-in systems and the commands.
//!
//! Thin: what a command does lives in `suites` and `harness`.

mod accept;
mod apiserver;
mod bench;
mod built_in;
mod capture;
mod command;
mod conformance;
mod drive;
mod e2e;
mod exit;
mod follow;
mod github;
mod inspect;
mod measure;
mod report;
mod repro;
mod rerun;
mod selftest;
mod serve;
mod side_by_side;
mod snapshot;
mod up;
mod why;

pub use built_in::{Defect, built_in, defects};
pub use command::run;
pub use exit::Exit;
