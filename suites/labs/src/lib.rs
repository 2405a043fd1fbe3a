//! Research on the cases and the KEPs: studies, benchmarks and checks of the cases; not needed for running cases.
//!
//! ```text
//! study      experiments that reproduce the arguments of KEP-1472 and KEP-4049
//! bench      speed and memory of the API server, the publisher and the scheduler
//! sweep      runs a case many times, with a fault at another point each time
//! pairs      pair coverage of axis values in the cases
//! selftest   runs the cases against the defects of the catalogue
//! ```
//!
//! The command line handles the terminal and exit codes.

pub mod bench;
mod command_result;
mod concurrently;
mod pairs;
pub mod selftest;
pub mod study;
pub mod sweep;

pub use command_result::CommandResult;
pub use pairs::pairs;

fn at_least_one<T: TryFrom<u64> + Clone + Send + Sync>() -> clap::builder::RangedU64ValueParser<T> {
    clap::builder::RangedU64ValueParser::new().range(1..)
}
