//! A measured value for a statement, and the bound within which the statement holds.
//!
//! Whether the statement holds is computed from value and bound, so that no study can set the result directly.

use std::fmt;

use serde::Serialize;

/// The range in which a measured value must be for the statement to hold. For counts and ratios only: times depend on the host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Bound {
    /// The value must be equal to the bound.
    Exactly(f64),
    /// The value must be at most the bound.
    AtMost(f64),
    /// The value must be at least the bound.
    AtLeast(f64),
    /// The value must be greater than the bound.
    Above(f64),
}

impl Bound {
    /// Whether a value is in the accepted range. NaN is in no range.
    pub fn admits(self, value: f64) -> bool {
        match self {
            Self::Exactly(exact) => value == exact,
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
            Self::Above(less) => value > less,
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

/// The finding of a study on one statement of the KEPs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    statement: &'static str,
    shows: String,
    #[serde(rename = "figure")]
    value: f64,
    bound: Bound,
    holds: bool,
}

impl Finding {
    /// Creates a finding. `shows`: description of the value with its unit; both are printed as one phrase, such as "decisions that differ:
    /// 0".
    pub fn new(statement: &'static str, shows: impl Into<String>, value: f64, bound: Bound) -> Self {
        Self {
            statement,
            shows: shows.into(),
            value,
            bound,
            holds: bound.admits(value),
        }
    }

    /// Creates a finding on a count.
    pub fn count(statement: &'static str, shows: impl Into<String>, count: usize, bound: Bound) -> Self {
        Self::new(statement, shows, count as f64, bound)
    }

    /// Creates a finding on a count that must be 0, such as the number of errors, differences or losses.
    pub fn none(statement: &'static str, shows: impl Into<String>, count: usize) -> Self {
        Self::count(statement, shows, count, Bound::Exactly(0.0))
    }

    /// The id of the KEP statement in `suites/requirements.yaml`.
    pub fn statement(&self) -> &'static str {
        self.statement
    }

    /// Sort key from the statement id `AREA-NUMBER`: area, and number within the area.
    pub fn sort_key(&self) -> (&'static str, u32) {
        let (area, number) = self.statement.split_once('-').unwrap_or((self.statement, ""));
        (area, number.parse().unwrap_or_default())
    }

    /// The description of the measured value.
    pub fn shows(&self) -> &str {
        &self.shows
    }

    /// The measured value as text.
    pub fn value(&self) -> String {
        number(self.value)
    }

    /// The accepted range of the value.
    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// Whether the value is in the accepted range, so that the statement holds.
    pub fn holds(&self) -> bool {
        self.holds
    }
}

/// Creates findings from rows: constructor, statement id, description, value, and the bound if the constructor has one.
macro_rules! findings {
    ($($constructor:ident $statement:literal, $shows:expr, $($value:expr),+;)+) => {
        vec![$($crate::study::result::Finding::$constructor($statement, $shows, $($value),+)),+]
    };
}
pub(crate) use findings;

/// Formats a number: integers without decimals, other numbers with two decimals.
pub(super) fn number(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.2}"),
    }
}
