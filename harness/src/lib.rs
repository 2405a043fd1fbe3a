//! Runs one case and computes its verdict: [`scenario`] → [`plan`] → cluster and programs → [`journal`] → [`judge`] → [`report`].
//!
//! Data flows in one direction: every observation is appended to one journal, and a verdict depends only on the plan and the journal. The
//! harness contains no storage policy and knows no program under test: the caller provides the programs as [`system::Systems`].

mod activity_limit;
pub mod alike;
pub mod api_server;
pub mod body_lines;
pub mod client_name;
mod clock;
mod cluster;
mod cluster_state;
mod cores;
mod defect;
pub mod driver_state;
mod exit_reason;
pub mod expectation;
mod fact_display;
pub mod fact_sink;
pub mod interposer;
pub mod invocation;
pub mod journal;
pub mod judge;
mod killer;
pub mod listening;
mod live_cluster;
pub mod log_lines;
pub mod machine;
pub mod manifest;
pub mod network;
pub mod oracle;
pub mod permissions;
pub mod plan;
mod process_log;
pub mod record;
pub mod renamed;
pub mod report;
mod run;
mod run_options;
pub mod scenario;
pub mod segment;
pub mod settings;
mod simulation;
pub mod standalone;
mod start_error;
pub mod system;
pub mod temporary;
mod text;
pub mod unattended;
pub mod unserved;

pub use cores::on_all_cores;
pub use defect::{Defect, UnknownDefect};
pub use exit_reason::{error_lines, reason_of};
pub use live_cluster::LiveCluster;
pub use run::{Outcome, run_and_keep};
pub use run_options::{Observer, RunOptions};
pub use simulation::{run_in_real_or_simulated_time as run, simulate};
pub use start_error::StartError;
pub use text::{is_unprintable, read_text_file, replace_words};
