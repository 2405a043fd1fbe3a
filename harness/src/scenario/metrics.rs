//! Expected metrics in a case: the component, and conditions on sums of series. Does not know metric names.

use std::fmt;

use serde::Deserialize;

use super::answer::Comparison;
use super::{FromShort, Role};

/// A component with metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// All instances of the publisher.
    Publisher,
    /// The scheduler.
    Scheduler,
    /// The cleaner.
    Cleaner,
    /// The API server.
    Server,
}

impl Speaker {
    /// The component's name in case files and journals.
    pub fn as_str(self) -> &'static str {
        self.role().map_or("server", Role::as_str)
    }

    /// The role of the component. None for the API server.
    pub fn role(self) -> Option<Role> {
        match self {
            Speaker::Publisher => Some(Role::Publisher),
            Speaker::Scheduler => Some(Role::Scheduler),
            Speaker::Cleaner => Some(Role::Cleaner),
            Speaker::Server => None,
        }
    }
}

/// Conditions on a sum of series, of which one must hold.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amounts {
    /// The alternatives.
    #[serde(rename = "oneOf")]
    pub any: Vec<Amount>,
}

impl FromShort for Amounts {
    const EXPECTING: &'static str =
        "a number, a comparison such as `>= 6` or `< 0.5`, `absent`, or a list of which one is enough";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(Amounts {
            any: vec![Amount::parse(text)?],
        })
    }

    fn from_list(list: Vec<String>) -> Result<Self, String> {
        let any = list.iter().map(|text| Amount::parse(text));
        Ok(Amounts {
            any: any.collect::<Result<_, _>>()?,
        })
    }
}

impl Amounts {
    /// Whether a sum satisfies one of the conditions. None: no series matches.
    pub fn hold(&self, sum: Option<f64>) -> bool {
        self.any.iter().any(|amount| amount.holds(sum))
    }

    /// Whether the conditions, once satisfied, stay satisfied while counters only grow.
    pub fn only_grow(&self) -> bool {
        self.any.iter().all(|amount| {
            matches!(
                amount,
                Amount::Compared(Comparison::AtLeast | Comparison::More, _)
            )
        })
    }
}

impl fmt::Display for Amounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.any.iter().map(ToString::to_string).collect();
        f.write_str(&words.join(" or "))
    }
}

/// A condition on a sum.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Amount {
    /// No series matches.
    Absent,
    /// A number that compares in this way.
    Compared(Comparison, f64),
}

impl Amount {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "absent" {
            return Ok(Amount::Absent);
        }
        let (comparison, number) = Comparison::split(text).unwrap_or((Comparison::Equal, text));
        let number: f64 = number
            .trim()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(|| format!("`{text}` is no amount; write {}", Amounts::EXPECTING))?;
        Ok(Amount::Compared(comparison, number))
    }

    fn holds(self, sum: Option<f64>) -> bool {
        match (self, sum) {
            (Amount::Absent, sum) => sum.is_none(),
            (Amount::Compared(..), None) => false,
            (Amount::Compared(comparison, right), Some(left)) => comparison.holds(left, right),
        }
    }
}

impl TryFrom<String> for Amount {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Amount::parse(&text)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Absent => f.write_str("absent"),
            Amount::Compared(Comparison::Equal, number) => write!(f, "{number}"),
            Amount::Compared(comparison, number) => write!(f, "{comparison} {number}"),
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
            let amounts = Amounts::from_short(text).unwrap();
            let held = [Some(5.5), Some(6.0), None].map(|sum| amounts.hold(sum));
            assert_eq!(held, [below, equal, none], "{text}");
            assert_eq!(amounts.to_string(), text);
        }
        let either = Amounts::from_list(vec!["0".to_owned(), "absent".to_owned()]).unwrap();
        assert!(either.hold(None) && either.hold(Some(0.0)) && !either.hold(Some(1.0)));
        assert_eq!(either.to_string(), "0 or absent");
        for wrong in ["", "many", ">= lots", "NaN"] {
            assert!(
                Amounts::from_short(wrong).unwrap_err().contains("`absent`"),
                "{wrong}"
            );
        }
    }
}
