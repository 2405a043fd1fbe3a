//! A figure that speaks of a statement, and the bound within which the statement is true.
//!
//! Whether it holds follows from figure and bound alone, so that no study can claim it.

use std::fmt;

use serde::Serialize;

/// Where a figure must lie. Counts and ratios, never times: those depend on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Bound {
    /// It is this.
    Exactly(f64),
    /// It is this or less.
    AtMost(f64),
    /// It is this or more.
    AtLeast(f64),
    /// It is more than this.
    Above(f64),
}

impl Bound {
    /// Whether a figure lies there. What is no number lies nowhere.
    pub fn admits(self, figure: f64) -> bool {
        match self {
            Self::Exactly(value) => figure == value,
            Self::AtMost(most) => figure <= most,
            Self::AtLeast(least) => figure >= least,
            Self::Above(less) => figure > less,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(value) => write!(f, "exactly {}", number(*value)),
            Self::AtMost(most) => write!(f, "at most {}", number(*most)),
            Self::AtLeast(least) => write!(f, "at least {}", number(*least)),
            Self::Above(less) => write!(f, "more than {}", number(*less)),
        }
    }
}

/// What a study found of one statement of the documents.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    statement: &'static str,
    shows: String,
    figure: f64,
    bound: Bound,
    holds: bool,
}

impl Finding {
    /// `shows` says what the figure is, with its unit, so that both read as one sentence: "decisions that differ: 0".
    pub fn new(statement: &'static str, shows: impl Into<String>, figure: f64, bound: Bound) -> Self {
        Self {
            statement,
            shows: shows.into(),
            figure,
            bound,
            holds: bound.admits(figure),
        }
    }

    /// A count.
    pub fn count(statement: &'static str, shows: impl Into<String>, count: usize, bound: Bound) -> Self {
        Self::new(statement, shows, count as f64, bound)
    }

    /// What must never be, counted: mistakes, differences, losses.
    pub fn none(statement: &'static str, shows: impl Into<String>, count: usize) -> Self {
        Self::count(statement, shows, count, Bound::Exactly(0.0))
    }

    /// The id of the statement, as `suites/requirements.yaml` has it.
    pub fn statement(&self) -> &'static str {
        self.statement
    }

    /// Where it stands among others: by area, and by number within it.
    pub fn order(&self) -> (&'static str, u32) {
        let (area, number) = self.statement.split_once('-').unwrap_or((self.statement, ""));
        (area, number.parse().unwrap_or_default())
    }

    /// What the figure is.
    pub fn shows(&self) -> &str {
        &self.shows
    }

    /// The figure, as it is read.
    pub fn figure(&self) -> String {
        number(self.figure)
    }

    /// Where the figure must lie.
    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// Whether it lies there.
    pub fn holds(&self) -> bool {
        self.holds
    }
}

/// Whole numbers without decimals, others with as many as a ratio needs.
pub(super) fn number(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.2}"),
    }
}
