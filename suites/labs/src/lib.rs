//! Research on the cases and on the KEPs, which no run of the cases needs.
//!
//! ```text
//! study      the arguments of KEP-1472 and KEP-4049, repeated as experiments
//! bench      speed and memory of the API server, the publisher and the scheduler
//! sweep      a case again and again, with a fault at another point each time
//! pairs      which pairs of values of axes occur together in the cases
//! selftest   the cases held against the defects of the catalogue
//! ```
//!
//! Knows no terminal and no exit code: those are the command line's.

pub mod bench;
mod found;
mod pairs;
pub mod selftest;
mod spread;
pub mod study;
pub mod sweep;

pub use found::Found;
pub use pairs::pairs;

/// Reads a number of things that are measured: of none there is nothing to measure.
fn counted<T: TryFrom<u64> + Clone + Send + Sync>() -> clap::builder::RangedU64ValueParser<T> {
    clap::builder::RangedU64ValueParser::new().range(1..)
}
