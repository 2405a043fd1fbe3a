//! The arguments of the documents as experiments: KEP-1472 and KEP-4049 argue with measurements and with designs that were rejected, and
//! each study here repeats such an argument.
//!
//! A study is a pure function of a [`Setup`]: no clock, no server, no other source of chance than its seed. What it says is a [`Study`]:
//! tables, plots, and findings, each of which names a statement, has a figure, and a bound that the figure must meet while the statement
//! is true. Deliberately absent: how any of it is shown, and studies that need a running cluster.

pub mod autoscaler;
mod cluster;
pub mod cost;
pub mod designs;
mod dice;
mod result;
pub mod scoring;

pub use result::{Axis, Bound, Cell, Finding, Line, Plot, Setup, Size, Study, Table};

/// How a study is made.
pub type Make = fn(Setup) -> Study;

/// Each study that needs no cluster, by its name.
pub const STUDIES: &[(&str, Make)] = &[
    ("autoscaler", autoscaler::run),
    ("designs", designs::run),
    ("scoring", scoring::run),
];
