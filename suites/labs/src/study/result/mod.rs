//! The result of a study: tables, plots and findings. Does not know studies or output formats.

mod finding;
mod plot;
mod table;

use serde::Serialize;

pub(crate) use finding::findings;
pub use finding::{Bound, Finding};
pub use plot::{Axis, Line, Plot};
pub use table::{Cell, Table};

/// Size of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Size {
    /// The smallest size with which every statement of the study can be checked; for tests.
    Small,
    /// The size of the clusters that the KEPs discuss.
    Full,
}

/// Inputs common to all studies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Size of the study.
    pub size: Size,
    /// Seed of all random choices.
    pub seed: u64,
}

/// The result of a study.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Study {
    /// Name of the study on the command line.
    pub name: &'static str,
    /// Topic of the study, in a sentence.
    pub title: &'static str,
    /// Size of the study.
    pub size: Size,
    /// Seed of all random choices.
    pub seed: u64,
    /// Tables of counts.
    pub tables: Vec<Table>,
    /// Plots.
    pub plots: Vec<Plot>,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Study {
    /// Creates a study without tables, plots and findings.
    pub fn new(name: &'static str, title: &'static str, setup: Setup) -> Self {
        Self {
            name,
            title,
            size: setup.size,
            seed: setup.seed,
            tables: Vec::new(),
            plots: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Whether the study has findings, and all of them hold.
    pub fn holds(&self) -> bool {
        !self.findings.is_empty() && self.findings.iter().all(Finding::holds)
    }
}
