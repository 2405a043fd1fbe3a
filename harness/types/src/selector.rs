//! Compiled label selectors, including the `nodeTopology` of a CSIStorageCapacity object.

use std::fmt;

use crate::Labels;
use crate::requirement::{Operator, Requirement, RequirementError};

/// Operators that a label selector allows; node selectors allow more.
const OPERATORS: [Operator; 4] = [
    Operator::In,
    Operator::NotIn,
    Operator::Exists,
    Operator::DoesNotExist,
];

/// An entry of `matchExpressions`, spelled as in the API (`LabelSelectorRequirement`).
#[derive(Clone, Copy, Debug)]
pub struct Expression<'a> {
    /// The label key of the requirement.
    pub key: &'a str,
    /// The operator of the requirement, such as `NotIn`.
    pub operator: &'a str,
    /// The values of the requirement; empty for `Exists` and `DoesNotExist`.
    pub values: &'a [String],
}

/// A compiled label selector. It matches labels that satisfy all its requirements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

impl LabelSelector {
    /// Compiles `matchLabels` and `matchExpressions`. Fails if the API server would reject the selector.
    pub fn compile<'a>(
        match_labels: impl IntoIterator<Item = (&'a String, &'a String)>,
        match_expressions: impl IntoIterator<Item = Expression<'a>>,
    ) -> Result<Self, RequirementError> {
        let labels = match_labels
            .into_iter()
            .map(|(key, value)| (key.as_str(), "In", std::slice::from_ref(value)));
        let expressions = match_expressions
            .into_iter()
            .map(|it| (it.key, it.operator, it.values));
        let all = labels.chain(expressions);
        let requirements =
            all.map(|(key, operator, values)| Requirement::compile(key, operator, values, &OPERATORS));
        Ok(Self {
            requirements: requirements.collect::<Result<_, _>>()?,
        })
    }

    /// Whether the labels satisfy every requirement. An empty selector matches all labels.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(labels))
    }

    /// The requirements of the selector, those of `matchLabels` first.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The first requirement of the selector that the labels do not satisfy; `None` if the selector matches.
    pub fn unmet(&self, labels: &Labels) -> Option<&Requirement> {
        self.requirements
            .iter()
            .find(|requirement| !requirement.matches(labels))
    }
}

/// The nodes with access to the storage of one CSIStorageCapacity object (`nodeTopology`, KEP-1472).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeTopology {
    /// `nodeTopology` is unset: no node has access.
    Unset,
    /// `nodeTopology` is a valid selector: nodes with matching labels have access. `{}` matches every node.
    Matching(LabelSelector),
    /// `nodeTopology` is an invalid selector: no node has access.
    Invalid(RequirementError),
}

impl NodeTopology {
    /// Creates a `NodeTopology`. `compiled`: the result of compiling the `nodeTopology` field, or `None` if the field is unset.
    pub fn new(compiled: Option<Result<LabelSelector, RequirementError>>) -> Self {
        match compiled {
            None => Self::Unset,
            Some(Ok(selector)) => Self::Matching(selector),
            Some(Err(error)) => Self::Invalid(error),
        }
    }

    /// Whether a node with these labels has access to the storage.
    pub fn admits(&self, labels: &Labels) -> bool {
        matches!(self, Self::Matching(selector) if selector.matches(labels))
    }
}

/// Formats an unset topology as `-`, an invalid one as `invalid`, one that matches every node as `{}`, others as their requirements.
impl fmt::Display for NodeTopology {
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

    use super::*;

    fn labels(text: &str) -> Labels {
        crate::segment::parse(text).unwrap()
    }

    /// Compiles a selector from `key=value` pairs, and expressions of key, operator and values.
    fn compile(
        match_labels: &str,
        expressions: &[(&str, &str, &[&str])],
    ) -> Result<LabelSelector, RequirementError> {
        let owned: Vec<_> = expressions
            .iter()
            .map(|(key, operator, values)| {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                (*key, *operator, values)
            })
            .collect();
        let expressions = owned.iter().map(|(key, operator, values)| Expression {
            key,
            operator,
            values,
        });
        LabelSelector::compile(&labels(match_labels), expressions)
    }

    #[test]
    fn unset_empty_and_invalid_topology_are_distinguished() {
        let node = labels("zone=a");
        let unset = NodeTopology::new(None);
        assert!(!unset.admits(&node));
        let every = NodeTopology::new(Some(compile("", &[])));
        assert!(every.admits(&node) && every.admits(&Labels::new()));
        let unknown = NodeTopology::new(Some(compile("", &[("zone", "Gt", &["1"])])));
        assert!(matches!(unknown, NodeTopology::Invalid(_)));
        assert!(!unknown.admits(&node));
        assert!(!NodeTopology::new(Some(compile("zone=bad value!", &[]))).admits(&node));
        let one = NodeTopology::new(Some(compile("zone=a", &[("rack", "Exists", &[])])));
        let texts = [unset, every, unknown, one].map(|topology| topology.to_string());
        assert_eq!(texts, ["-", "{}", "invalid", "zone In [a], rack Exists"]);
    }

    #[test]
    fn all_labels_and_expressions_must_match() {
        let both = compile("zone=a", &[("rack", "NotIn", &["r1"])]).unwrap();
        assert!(
            both.matches(&labels("zone=a")),
            "NotIn holds when the label is absent"
        );
        assert!(both.matches(&labels("zone=a,rack=r2")));
        assert!(!both.matches(&labels("zone=a,rack=r1")));
        assert!(!both.matches(&labels("rack=r2")));
        let unmet = both.unmet(&labels("zone=a,rack=r1")).map(Requirement::key);
        assert_eq!(unmet, Some("rack"));
    }

    proptest! {
        #[test]
        fn in_and_not_in_are_complementary(values in proptest::collection::vec("[xyz]", 1..3), present in proptest::option::of("[xyz]")) {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            let labels: Labels = present.into_iter().map(|value| ("k".to_owned(), value)).collect();
            let matches = ["In", "NotIn"].map(|operator| compile("", &[("k", operator, &values)]).unwrap().matches(&labels));
            prop_assert_ne!(matches[0], matches[1]);
        }
    }
}
