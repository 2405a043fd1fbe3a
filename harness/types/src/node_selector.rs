//! Node selectors of pods and PersistentVolumes: terms are ORed, the requirements of a term are ANDed.
//!
//! Preferred affinity is not supported, since it does not restrict nodes.

use std::collections::BTreeSet;

use crate::Labels;
use crate::requirement::{Operator, Requirement, RequirementError};
use crate::selector::Expression;

/// Operators that the API allows in a requirement of `matchFields`.
const FIELD_OPERATORS: [Operator; 2] = [Operator::In, Operator::NotIn];
/// The only field that the API allows in `matchFields`.
const NAME_FIELD: &str = "metadata.name";

/// A compiled node selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

impl NodeSelector {
    /// Compiles selector terms, each given by its `matchExpressions` and `matchFields`. An invalid or empty term matches no node.
    pub fn compile<'a, L, F>(terms: impl IntoIterator<Item = (L, F)>) -> Self
    where
        L: IntoIterator<Item = Expression<'a>>,
        F: IntoIterator<Item = Expression<'a>>,
    {
        let terms = terms.into_iter();
        let compiled = terms.map(|(labels, fields)| Term::compile(labels, fields));
        Self {
            terms: compiled.filter_map(Result::ok).collect(),
        }
    }

    /// Whether a node with this name and these labels matches one of the terms. If the name is empty, `matchFields` are ignored, as
    /// kube-scheduler does for the node affinity of a volume; a term with only `matchFields` then matches every node.
    pub fn matches(&self, name: &str, labels: &Labels) -> bool {
        self.terms.iter().any(|term| term.matches(name, labels))
    }

    /// For each term, the requirements that a node with this name and these labels does not satisfy, each with its label key (`None` for a
    /// requirement on a field).
    pub fn unmet(&self, name: &str, labels: &Labels) -> Vec<Vec<(String, Option<String>)>> {
        self.terms.iter().map(|term| term.unmet(name, labels)).collect()
    }

    /// The node names that the selector requires by `metadata.name`; `None` without terms, or if a term requires no node name.
    pub fn named_nodes(&self) -> Option<BTreeSet<&str>> {
        let mut all = BTreeSet::new();
        for term in &self.terms {
            all.extend(term.named_nodes()?);
        }
        (!self.terms.is_empty()).then_some(all)
    }

    /// A label that every selected node has: the first `In` requirement with one value, if the selector has only one term. `None` if it has
    /// several terms.
    pub fn required_label(&self) -> Option<(&str, &str)> {
        let [term] = self.terms.as_slice() else {
            return None;
        };
        term.labels
            .iter()
            .find_map(|requirement| match requirement.in_values()? {
                [value] => Some((requirement.key(), value.as_str())),
                _ => None,
            })
    }
}

impl Term {
    fn compile<'a>(
        labels: impl IntoIterator<Item = Expression<'a>>,
        fields: impl IntoIterator<Item = Expression<'a>>,
    ) -> Result<Self, RequirementError> {
        let label = |it: Expression<'_>| Requirement::compile(it.key, it.operator, it.values, &Operator::ALL);
        let field =
            |it: Expression<'_>| Requirement::compile_field(it.key, it.operator, it.values, &FIELD_OPERATORS);
        Ok(Self {
            labels: labels.into_iter().map(label).collect::<Result<_, _>>()?,
            fields: fields.into_iter().map(field).collect::<Result<_, _>>()?,
        })
    }

    fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    fn matches(&self, name: &str, labels: &Labels) -> bool {
        let named = |field: &Requirement| field.key() == NAME_FIELD && field.matches_value(Some(name));
        !self.is_empty()
            && self.labels.iter().all(|label| label.matches(labels))
            && (name.is_empty() || self.fields.iter().all(named))
    }

    fn unmet(&self, name: &str, labels: &Labels) -> Vec<(String, Option<String>)> {
        if self.is_empty() {
            return vec![("nothing (an empty term matches no node)".to_owned(), None)];
        }
        let by_label = self.labels.iter().filter(|label| !label.matches(labels));
        let by_label = by_label.map(|label| (label.to_string(), Some(label.key().to_owned())));
        let by_name = self.fields.iter();
        let by_name = by_name.filter(|field| field.key() != NAME_FIELD || !field.matches_value(Some(name)));
        by_label
            .chain(by_name.map(|field| (field.to_string(), None)))
            .collect()
    }

    fn named_nodes(&self) -> Option<BTreeSet<&str>> {
        let listed = self.fields.iter().filter(|field| field.key() == NAME_FIELD);
        listed
            .filter_map(Requirement::in_values)
            .map(|names| names.iter().map(String::as_str).collect::<BTreeSet<_>>())
            .reduce(|left, right| left.intersection(&right).copied().collect())
    }
}
