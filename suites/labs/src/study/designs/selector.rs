//! Node selectors: ORed terms of ANDed expressions, used by all designs except for the flat one.

use capacity_types::{Labels, Operator, Requirement};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NodeSelector {
    pub(super) node_selector_terms: Vec<Term>,
}

/// A term of a node selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Term {
    pub(super) match_expressions: Vec<Expression>,
}

/// An expression of a node selector, with the field names of label selectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expression {
    pub(super) key: String,
    pub(super) operator: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) values: Vec<String>,
}

impl NodeSelector {
    /// A node selector with one term that has one expression.
    pub(super) fn of(key: &str, operator: &str, values: &[&str]) -> Self {
        Self {
            node_selector_terms: vec![Term::of(key, operator, values)],
        }
    }

    /// Whether at least one term matches.
    pub(super) fn matches(&self, labels: &Labels) -> bool {
        self.node_selector_terms.iter().any(|term| term.matches(labels))
    }
}

impl Term {
    pub(super) fn of(key: &str, operator: &str, values: &[&str]) -> Self {
        Self {
            match_expressions: vec![Expression {
                key: key.to_owned(),
                operator: operator.to_owned(),
                values: values.iter().map(ToString::to_string).collect(),
            }],
        }
    }

    fn matches(&self, labels: &Labels) -> bool {
        // As in Kubernetes, a term without expressions matches no node.
        !self.match_expressions.is_empty() && self.match_expressions.iter().all(|it| it.matches(labels))
    }
}

impl Expression {
    fn matches(&self, labels: &Labels) -> bool {
        let compiled = Requirement::compile(&self.key, &self.operator, &self.values, &Operator::ALL);
        compiled.is_ok_and(|requirement| requirement.matches(labels))
    }
}
