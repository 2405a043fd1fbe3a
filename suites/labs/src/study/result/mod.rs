//! What a study comes to: tables and plots to read, and findings that hold or do not. Knows no study, and not how any of it is shown.

mod finding;
mod plot;
mod table;

use serde::Serialize;

pub use finding::{Bound, Finding};
pub use plot::{Axis, Line, Plot};
pub use table::{Cell, Table};

/// How much a study does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Size {
    /// As little as shows every statement; for tests.
    Small,
    /// As much as the documents speak of.
    Full,
}

/// What all studies are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// How much is done.
    pub size: Size,
    /// Decides every random choice.
    pub seed: u64,
}

/// The result of one study.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Study {
    /// The word by which it is asked for.
    pub name: &'static str,
    /// What it is about, in a sentence.
    pub title: &'static str,
    /// How much was done.
    pub size: Size,
    /// What decided every random choice.
    pub seed: u64,
    /// What was counted.
    pub tables: Vec<Table>,
    /// What is better seen.
    pub plots: Vec<Plot>,
    /// What the documents say of it, each with its figure and its bound.
    pub findings: Vec<Finding>,
}

impl Study {
    /// A study without a result yet.
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

    /// Whether every finding holds, and there is one.
    pub fn holds(&self) -> bool {
        !self.findings.is_empty() && self.findings.iter().all(Finding::holds)
    }
}
