//! Expected metrics in a case: the component, and conditions on sums of series. Does not know the names of metrics.

use std::fmt;

use serde::Deserialize;

use super::response::Comparison;
use super::{FromShort, Role};

/// A component that serves metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricsSource {
    /// All instances of the publisher.
    Publisher,
    /// The scheduler.
    Scheduler,
    /// The cleaner.
    Cleaner,
    /// The API server.
    Server,
}

impl MetricsSource {
    /// Name of the component in case files and in the journal.
    pub fn as_str(self) -> &'static str {
        self.role().map_or("server", Role::as_str)
    }

    /// The role of the component; None for the API server.
    pub fn role(self) -> Option<Role> {
        match self {
            MetricsSource::Publisher => Some(Role::Publisher),
            MetricsSource::Scheduler => Some(Role::Scheduler),
            MetricsSource::Cleaner => Some(Role::Cleaner),
            MetricsSource::Server => None,
        }
    }
}

/// Conditions on a sum of metric series, of which at least one must hold.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SumConditions {
    /// The alternative conditions.
    #[serde(rename = "oneOf")]
    pub any: Vec<SumCondition>,
}

impl FromShort for SumConditions {
    const EXPECTING: &'static str =
        "a number, a comparison such as `>= 6` or `< 0.5`, `absent`, or a list of alternatives";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(SumConditions {
            any: vec![SumCondition::parse(text)?],
        })
    }

    fn from_list(list: Vec<String>) -> Result<Self, String> {
        let any = list.iter().map(|text| SumCondition::parse(text));
        Ok(SumConditions {
            any: any.collect::<Result<_, _>>()?,
        })
    }
}

impl SumConditions {
    /// Whether a sum satisfies one of the conditions. `None`: no series matches.
    pub fn are_satisfied_by(&self, sum: Option<f64>) -> bool {
        self.any.iter().any(|condition| condition.holds(sum))
    }

    /// Whether the conditions, once they hold, continue to hold while counters grow.
    pub fn stay_satisfied(&self) -> bool {
        self.any.iter().all(|condition| {
            matches!(
                condition,
                SumCondition::Compared(Comparison::AtLeast | Comparison::More, _)
            )
        })
    }
}

impl fmt::Display for SumConditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.any.iter().map(ToString::to_string).collect();
        f.write_str(&words.join(" or "))
    }
}

/// A condition on a sum of metric series.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum SumCondition {
    /// No series matches, so that there is no sum.
    Absent,
    /// The comparison of the sum with the number holds.
    Compared(Comparison, f64),
}

impl SumCondition {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "absent" {
            return Ok(SumCondition::Absent);
        }
        let (comparison, number) = Comparison::split_operator(text).unwrap_or((Comparison::Equal, text));
        let number: f64 = number
            .trim()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(|| {
                format!(
                    "`{text}` is not a number or comparison; write {}",
                    SumConditions::EXPECTING
                )
            })?;
        Ok(SumCondition::Compared(comparison, number))
    }

    fn holds(self, sum: Option<f64>) -> bool {
        match (self, sum) {
            (SumCondition::Absent, sum) => sum.is_none(),
            (SumCondition::Compared(..), None) => false,
            (SumCondition::Compared(comparison, right), Some(left)) => comparison.holds(left, right),
        }
    }
}

impl TryFrom<String> for SumCondition {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        SumCondition::parse(&text)
    }
}

impl fmt::Display for SumCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SumCondition::Absent => f.write_str("absent"),
            SumCondition::Compared(Comparison::Equal, number) => write!(f, "{number}"),
            SumCondition::Compared(comparison, number) => write!(f, "{comparison} {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_compare_sums_or_require_their_absence() {
        for (text, below, equal, none) in [
            ("6", false, true, false),
            (">= 6", false, true, false),
            ("< 6", true, false, false),
            ("absent", false, false, true),
        ] {
            let conditions = SumConditions::from_short(text).unwrap();
            let held = [Some(5.5), Some(6.0), None].map(|sum| conditions.are_satisfied_by(sum));
            assert_eq!(held, [below, equal, none], "{text}");
            assert_eq!(conditions.to_string(), text);
        }
        let either = SumConditions::from_list(vec!["0".to_owned(), "absent".to_owned()]).unwrap();
        assert!(
            either.are_satisfied_by(None)
                && either.are_satisfied_by(Some(0.0))
                && !either.are_satisfied_by(Some(1.0))
        );
        assert_eq!(either.to_string(), "0 or absent");
        for wrong in ["", "many", ">= lots", "NaN"] {
            assert!(
                SumConditions::from_short(wrong).unwrap_err().contains("`absent`"),
                "{wrong}"
            );
        }
    }
}
