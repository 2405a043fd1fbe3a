//! The command line of csi-capacity-harness, as a library: the built-in systems and the commands.
//!
//! Thin: what a command does lives in `suites` and `harness`.

mod bench;
mod built_in;
mod command;
mod conformance;
mod drive;
mod e2e;
mod exit;
mod github;
mod inspect;
mod report;
mod selftest;
mod up;
mod why;

pub use built_in::{Defect, built_in, defects};
pub use command::run;
pub use exit::Exit;
