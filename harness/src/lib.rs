//! Runs one scenario and judges it: [`scenario`] → [`plan`] → cluster and systems → [`journal`] → [`judge`] → [`report`].
//!
//! Facts flow one way. Everything observable goes into one journal, and verdicts are functions of the plan and the journal alone.
//! The harness holds no storage policy and knows no system under test: those come from outside, as [`system::Systems`].

mod apiserver;
pub mod capture;
mod cluster;
mod defect;
mod flood;
pub mod journal;
pub mod judge;
mod last_words;
mod line;
pub mod machine;
pub mod manifest;
pub mod plan;
mod pod;
mod process_log;
pub mod record;
pub mod report;
mod run;
pub mod scenario;
pub mod segment;
pub mod standalone;
mod standing;
pub mod system;
mod text;
pub mod unattended;
mod unserved;
mod world;

pub use apiserver::{CASE_LABEL, ConnectError, RUN_LABEL, RealServer};
pub use cluster::StartError;
pub use defect::{Defect, UnknownDefect};
pub use last_words::complaints;
pub use run::{Outcome, RunOptions, run, run_and_keep};
pub use standing::Standing;
pub use text::text_of;
