//! A requirement of a label or node selector on a set of labels, and the syntax of label keys and values.
//!
//! Label selectors and node selectors consist of requirements, but allow different operators.

use std::fmt;

use crate::Labels;

/// Operator of a selector requirement, named as in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The label exists, and its value is in the list of values.
    In,
    /// The label is absent, or its value is not in the list of values.
    NotIn,
    /// The label exists.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label value is an integer greater than the given integer (node selectors only).
    Gt,
    /// The label value is an integer less than the given integer (node selectors only).
    Lt,
}

impl Operator {
    /// All operators of selector requirements. A node selector allows all of them for labels.
    pub const ALL: [Operator; 6] = [
        Operator::In,
        Operator::NotIn,
        Operator::Exists,
        Operator::DoesNotExist,
        Operator::Gt,
        Operator::Lt,
    ];
}

const OPERATORS: [(&str, Operator); 6] = [
    ("In", Operator::In),
    ("NotIn", Operator::NotIn),
    ("Exists", Operator::Exists),
    ("DoesNotExist", Operator::DoesNotExist),
    ("Gt", Operator::Gt),
    ("Lt", Operator::Lt),
];

/// A compiled requirement of a label or node selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// The values of the requirement, sorted and without duplicates. A boxed slice saves memory: most requirements have one value.
    values: Box<[String]>,
}

/// Why a requirement is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// The operator is not allowed in this type of selector.
    #[error("operator {operator:?} is not allowed in this selector: use one of {allowed}")]
    Operator {
        /// The operator, as spelled in the selector.
        operator: String,
        /// The operators that the selector allows.
        allowed: String,
    },
    /// The number of values is not allowed for the operator.
    #[error("operator {operator} on label {key:?} has {count} values: {needed} required")]
    Values {
        /// The operator, as spelled in the selector.
        operator: String,
        /// The label key of the requirement.
        key: String,
        /// The number of values in the requirement.
        count: usize,
        /// The number of values that the operator requires.
        needed: &'static str,
    },
    /// The value for Gt or Lt is not an integer.
    #[error("value {value:?} for label {key:?} is not an integer: use an integer")]
    Integer {
        /// The label key of the requirement.
        key: String,
        /// The value, as spelled in the selector.
        value: String,
    },
    /// The key is not a valid label key.
    #[error(
        "label key {key:?} is invalid: use an optional DNS prefix, a slash and a name of at most 63 characters"
    )]
    Key {
        /// The label key, as spelled in the selector.
        key: String,
    },
    /// The value is not a valid label value.
    #[error("label value {value:?} is invalid: use at most 63 letters, digits, '-', '_' and '.'")]
    Value {
        /// The value, as spelled in the selector.
        value: String,
    },
}

impl Requirement {
    /// Compiles a requirement on a label. Validates key, operator and values as apimachinery does.
    pub fn compile(
        key: &str,
        operator: &str,
        values: &[String],
        allowed: &[Operator],
    ) -> Result<Self, RequirementError> {
        let requirement = Self::compile_field(key, operator, values, allowed)?;
        check_syntax(key, requirement.operator, values)?;
        Ok(requirement)
    }

    /// Compiles a requirement on a field. The values need not be valid label values, because a node name may be longer than a label value.
    pub fn compile_field(
        key: &str,
        operator: &str,
        values: &[String],
        allowed: &[Operator],
    ) -> Result<Self, RequirementError> {
        let operator = find_operator(operator, allowed)?;
        check_value_count(key, operator, values)?;
        let mut values = values.to_vec();
        values.sort_unstable();
        values.dedup();
        Ok(Self {
            key: key.to_owned(),
            operator,
            values: values.into_boxed_slice(),
        })
    }

    /// Whether a set of labels satisfies the requirement.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.matches_value(labels.get(&self.key).map(String::as_str))
    }

    /// Whether a label with this value satisfies the requirement. `value` is `None` if the label is absent.
    pub fn matches_value(&self, value: Option<&str>) -> bool {
        match (self.operator, value) {
            (Operator::In, Some(value)) => self.has_value(value),
            (Operator::NotIn, Some(value)) => !self.has_value(value),
            (Operator::Exists, found) => found.is_some(),
            (Operator::DoesNotExist, found) => found.is_none(),
            (Operator::Gt, Some(value)) => self.compares_as_integer(value, i64::gt),
            (Operator::Lt, Some(value)) => self.compares_as_integer(value, i64::lt),
            (Operator::NotIn, None) => true,
            (Operator::In | Operator::Gt | Operator::Lt, None) => false,
        }
    }

    /// The label key of the requirement.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The values of an `In` requirement, sorted; `None` for other operators.
    pub fn in_values(&self) -> Option<&[String]> {
        (self.operator == Operator::In).then_some(&*self.values)
    }

    fn has_value(&self, value: &str) -> bool {
        self.values
            .binary_search_by(|listed| listed.as_str().cmp(value))
            .is_ok()
    }

    fn compares_as_integer(&self, value: &str, compare: fn(&i64, &i64) -> bool) -> bool {
        let bound = self.values.first().and_then(|bound| bound.parse().ok());
        match (value.parse::<i64>(), bound) {
            (Ok(value), Some(bound)) => compare(&value, &bound),
            _ => false,
        }
    }
}

/// Formats the requirement as `zone In [a, b]` or `zone Exists`.
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, name_of(self.operator))?;
        if self.values.is_empty() {
            return Ok(());
        }
        write!(f, " [{}]", self.values.join(", "))
    }
}

fn name_of(operator: Operator) -> &'static str {
    OPERATORS
        .iter()
        .find(|(_, known)| *known == operator)
        .map_or("", |(name, _)| name)
}

fn find_operator(operator: &str, allowed: &[Operator]) -> Result<Operator, RequirementError> {
    let found = OPERATORS
        .iter()
        .find(|(name, known)| *name == operator && allowed.contains(known));
    found.map(|(_, known)| *known).ok_or_else(|| {
        let names: Vec<_> = allowed.iter().map(|operator| name_of(*operator)).collect();
        RequirementError::Operator {
            operator: operator.to_owned(),
            allowed: names.join(", "),
        }
    })
}

fn check_value_count(key: &str, operator: Operator, values: &[String]) -> Result<(), RequirementError> {
    let (is_valid, needed) = match operator {
        Operator::In | Operator::NotIn => (!values.is_empty(), "at least one"),
        Operator::Exists | Operator::DoesNotExist => (values.is_empty(), "none"),
        Operator::Gt | Operator::Lt => (values.len() == 1, "exactly one"),
    };
    if is_valid {
        return Ok(());
    }
    Err(RequirementError::Values {
        operator: name_of(operator).to_owned(),
        key: key.to_owned(),
        count: values.len(),
        needed,
    })
}

fn check_syntax(key: &str, operator: Operator, values: &[String]) -> Result<(), RequirementError> {
    if !is_label_key(key) {
        return Err(RequirementError::Key { key: key.to_owned() });
    }
    let ordered = matches!(operator, Operator::Gt | Operator::Lt);
    for value in values {
        if ordered && value.parse::<i64>().is_err() {
            return Err(RequirementError::Integer {
                key: key.to_owned(),
                value: value.clone(),
            });
        }
        if !ordered && !is_label_value(value) {
            return Err(RequirementError::Value { value: value.clone() });
        }
    }
    Ok(())
}

/// Whether the text is a qualified name: a name of at most 63 characters, optionally prefixed with a DNS subdomain and a slash.
fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(key),
    }
}

fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

fn is_name(text: &str) -> bool {
    let alphanumeric = |found: Option<char>| found.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && alphanumeric(text.chars().next())
        && alphanumeric(text.chars().next_back())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn is_subdomain(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    text.len() <= 253
        && text.split('.').all(|label| {
            edge(label.chars().next())
                && edge(label.chars().next_back())
                && label
                    .chars()
                    .all(|c| c == '-' || c.is_ascii_lowercase() || c.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_match_listed_other_and_absent_values_as_in_the_api() {
        for (operator, values, listed, other, absent) in [
            ("In", &["5"][..], true, false, false),
            ("NotIn", &["5"], false, true, true),
            ("Exists", &[], true, true, false),
            ("DoesNotExist", &[], false, false, true),
            ("Gt", &["5"], false, true, false),
            ("Lt", &["6"], true, false, false),
        ] {
            let values: Vec<_> = values.iter().map(ToString::to_string).collect();
            let requirement = Requirement::compile("a/k", operator, &values, &Operator::ALL).unwrap();
            let found = [Some("5"), Some("7"), None].map(|value| requirement.matches_value(value));
            assert_eq!(found, [listed, other, absent], "{operator}");
        }
    }

    #[test]
    fn invalid_requirements_are_rejected() {
        for (key, operator, values) in [
            ("k", "Equals", &["a"][..]),
            ("k", "In", &[]),
            ("k", "Exists", &["a"]),
            ("k", "In", &["bad value!"]),
            ("bad key", "In", &["a"]),
            ("", "Exists", &[]),
            ("Bad.Prefix/k", "Exists", &[]),
            ("k", "Gt", &["a"]),
            ("k", "Lt", &["1", "2"]),
        ] {
            let values: Vec<_> = values.iter().map(ToString::to_string).collect();
            assert!(
                Requirement::compile(key, operator, &values, &Operator::ALL).is_err(),
                "{key} {operator}"
            );
        }
        assert!(Requirement::compile("k", "Gt", &["1".to_owned()], &[Operator::In]).is_err());
    }
}
