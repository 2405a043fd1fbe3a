//! `nodeTopology` of a CSIStorageCapacity and claim selectors: label selectors, compiled once.
//!
//! Deliberately not here: node selectors of pods and volumes, which have other operators and OR their terms.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::requirement::{Labels, Operator, Requirement, RequirementError};

/// The operators of a label selector.
const OPERATORS: [Operator; 4] = [
    Operator::In,
    Operator::NotIn,
    Operator::Exists,
    Operator::DoesNotExist,
];

/// A compiled label selector: all requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

impl Selector {
    /// Compiles `matchLabels` and `matchExpressions`. Errors when the API server would refuse the selector.
    pub fn compile(source: &LabelSelector) -> Result<Self, RequirementError> {
        let mut requirements = Vec::new();
        for (key, value) in source.match_labels.iter().flatten() {
            let values = std::slice::from_ref(value);
            requirements.push(Requirement::compile(key, "In", values, &OPERATORS)?);
        }
        for expression in source.match_expressions.iter().flatten() {
            let values = expression.values.as_deref().unwrap_or_default();
            let compiled = Requirement::compile(&expression.key, &expression.operator, values, &OPERATORS)?;
            requirements.push(compiled);
        }
        Ok(Self { requirements })
    }

    /// Whether the labels meet every requirement; a selector without any meets all.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(labels))
    }

    /// The requirements, in the order of the source: `matchLabels` first.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The first requirement that the labels do not meet.
    pub fn unmet(&self, labels: &Labels) -> Option<&Requirement> {
        self.requirements
            .iter()
            .find(|requirement| !requirement.matches(labels))
    }
}

/// Which nodes have access to the storage of one CSIStorageCapacity object (`nodeTopology`, KEP-1472).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Absent: no node has access.
    Unset,
    /// Present: the nodes whose labels match. `{}` is every node.
    Matching(Selector),
    /// Present, but it cannot be evaluated: no node has access.
    Invalid(RequirementError),
}

impl Topology {
    /// Compiles the field, keeping nil, `{}` and a set apart.
    pub fn compile(source: Option<&LabelSelector>) -> Self {
        match source.map(Selector::compile) {
            None => Self::Unset,
            Some(Ok(selector)) => Self::Matching(selector),
            Some(Err(error)) => Self::Invalid(error),
        }
    }

    /// Whether a node with these labels has access.
    pub fn admits(&self, labels: &Labels) -> bool {
        matches!(self, Self::Matching(selector) if selector.matches(labels))
    }
}

/// `-` for unset, `{}` for every node, else the requirements.
impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => f.write_str("-"),
            Self::Invalid(_) => f.write_str("invalid"),
            Self::Matching(selector) if selector.requirements.is_empty() => f.write_str("{}"),
            Self::Matching(selector) => {
                let texts: Vec<_> = selector.requirements.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect()
    }

    fn topology(source: Value) -> Topology {
        let parsed: Option<LabelSelector> = serde_json::from_value(source).unwrap();
        Topology::compile(parsed.as_ref())
    }

    #[test]
    fn nil_empty_and_invalid_are_kept_apart() {
        let anything = labels(&[("zone", "a")]);
        assert!(!topology(Value::Null).admits(&anything));
        assert!(topology(json!({})).admits(&anything));
        assert!(topology(json!({})).admits(&Labels::new()));
        let unknown = json!({"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["1"]}]});
        assert!(matches!(topology(unknown.clone()), Topology::Invalid(_)));
        assert!(!topology(unknown).admits(&anything));
        assert!(!topology(json!({"matchLabels": {"zone": "bad value!"}})).admits(&anything));
    }

    #[test]
    fn labels_and_expressions_must_all_hold() {
        let both = topology(json!({
            "matchLabels": {"zone": "a"},
            "matchExpressions": [{"key": "rack", "operator": "NotIn", "values": ["r1"]}],
        }));
        assert!(
            both.admits(&labels(&[("zone", "a")])),
            "NotIn holds when the label is absent"
        );
        assert!(both.admits(&labels(&[("zone", "a"), ("rack", "r2")])));
        assert!(!both.admits(&labels(&[("zone", "a"), ("rack", "r1")])));
        assert!(!both.admits(&labels(&[("rack", "r2")])));
    }

    proptest! {
        #[test]
        fn in_and_not_in_are_opposites(values in proptest::collection::vec("[xyz]", 1..3), present in proptest::option::of("[xyz]")) {
            let compile = |operator: &str| {
                let source = json!({"matchExpressions": [{"key": "k", "operator": operator, "values": values}]});
                Selector::compile(&serde_json::from_value(source).unwrap()).unwrap()
            };
            let labels: Labels = present.into_iter().map(|value| ("k".to_owned(), value)).collect();
            prop_assert_ne!(compile("In").matches(&labels), compile("NotIn").matches(&labels));
        }
    }
}
