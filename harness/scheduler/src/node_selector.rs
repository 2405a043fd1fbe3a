//! Node selectors of pods and of persistent volumes: terms that are ORed, requirements that are ANDed.
//!
//! Preferred affinity is not looked at: it orders nodes by something other than storage.

use std::collections::BTreeSet;

use capacity_types::{Labels, Operator, Requirement, RequirementError};
use k8s_openapi::api::core::v1::{
    NodeSelector as ApiNodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
};

const LABEL_OPERATORS: [Operator; 6] = [
    Operator::In,
    Operator::NotIn,
    Operator::Exists,
    Operator::DoesNotExist,
    Operator::Gt,
    Operator::Lt,
];
const FIELD_OPERATORS: [Operator; 2] = [Operator::In, Operator::NotIn];
/// The only field that a term may name.
const NAME_FIELD: &str = "metadata.name";

/// A compiled node selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

impl NodeSelector {
    /// Compiles every term. A term that cannot be evaluated matches no node, and neither does an empty one.
    pub fn compile(source: &ApiNodeSelector) -> Self {
        let compiled = source.node_selector_terms.iter().map(Term::compile);
        Self {
            terms: compiled.filter_map(Result::ok).collect(),
        }
    }

    /// Whether a node with this name and these labels matches one of the terms. Without a name `matchFields` are passed over: that is how
    /// kube-scheduler evaluates the affinity of a volume, which a field alone lets onto every node.
    pub fn matches(&self, name: &str, labels: &Labels) -> bool {
        self.terms.iter().any(|term| term.matches(name, labels))
    }

    /// What each term requires that a node with this name and these labels does not meet: the requirement, and the key of the label
    /// that it is about, where it is about one.
    pub fn unmet(&self, name: &str, labels: &Labels) -> Vec<Vec<(String, Option<String>)>> {
        self.terms.iter().map(|term| term.unmet(name, labels)).collect()
    }

    /// The nodes that this selector names by `metadata.name`, if every term names some.
    pub fn named_nodes(&self) -> Option<BTreeSet<&str>> {
        let mut all = BTreeSet::new();
        for term in &self.terms {
            all.extend(term.named_nodes()?);
        }
        (!self.terms.is_empty()).then_some(all)
    }
}

impl Term {
    fn compile(source: &NodeSelectorTerm) -> Result<Self, RequirementError> {
        Ok(Self {
            labels: compile(
                source.match_expressions.as_deref(),
                Requirement::compile,
                &LABEL_OPERATORS,
            )?,
            fields: compile(
                source.match_fields.as_deref(),
                Requirement::compile_field,
                &FIELD_OPERATORS,
            )?,
        })
    }

    fn matches(&self, name: &str, labels: &Labels) -> bool {
        let empty = self.labels.is_empty() && self.fields.is_empty();
        let named = |field: &Requirement| field.key() == NAME_FIELD && field.matches_value(Some(name));
        !empty
            && self.labels.iter().all(|label| label.matches(labels))
            && (name.is_empty() || self.fields.iter().all(named))
    }

    fn unmet(&self, name: &str, labels: &Labels) -> Vec<(String, Option<String>)> {
        if self.labels.is_empty() && self.fields.is_empty() {
            return vec![("nothing, and an empty term matches no node".to_owned(), None)];
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
            .filter_map(Requirement::listed)
            .map(|names| names.iter().map(String::as_str).collect::<BTreeSet<_>>())
            .reduce(|left, right| left.intersection(&right).copied().collect())
    }
}

type Compile = fn(&str, &str, &[String], &[Operator]) -> Result<Requirement, RequirementError>;

fn compile(
    source: Option<&[NodeSelectorRequirement]>,
    compile: Compile,
    allowed: &[Operator],
) -> Result<Vec<Requirement>, RequirementError> {
    let compile_one = |requirement: &NodeSelectorRequirement| {
        let values = requirement.values.as_deref().unwrap_or_default();
        compile(&requirement.key, &requirement.operator, values, allowed)
    };
    source.unwrap_or_default().iter().map(compile_one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn selector(terms: &Value) -> NodeSelector {
        let source: ApiNodeSelector = serde_json::from_value(json!({ "nodeSelectorTerms": terms })).unwrap();
        NodeSelector::compile(&source)
    }

    fn zone(value: &str) -> Labels {
        [("zone".to_owned(), value.to_owned())].into()
    }

    #[test]
    fn terms_are_ored_and_requirements_anded() {
        let by_zone = |value: &str| json!({"key": "zone", "operator": "In", "values": [value]});
        let either =
            selector(&json!([{"matchExpressions": [by_zone("a")]}, {"matchExpressions": [by_zone("b")]}]));
        assert!(either.matches("n", &zone("b")));
        assert!(!either.matches("n", &zone("c")));
        let both = selector(&json!([{"matchExpressions": [by_zone("a"), by_zone("b")]}]));
        assert!(!both.matches("n", &zone("a")));
    }

    #[test]
    fn empty_and_invalid_terms_match_nothing() {
        assert!(!selector(&json!([])).matches("n", &zone("a")));
        assert!(!selector(&json!([{}])).matches("n", &zone("a")));
        let unknown = json!([{"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}]);
        assert!(!selector(&unknown).matches("n", &zone("a")));
    }

    #[test]
    fn names_are_found_only_when_every_term_has_some() {
        let name = |operator: &str, value: &str| json!({"matchFields": [{"key": "metadata.name", "operator": operator, "values": [value]}]});
        let two = selector(&json!([name("In", "n1"), name("In", "n2")]));
        assert_eq!(two.named_nodes(), Some(BTreeSet::from(["n1", "n2"])));
        assert!(two.matches("n2", &Labels::new()) && !two.matches("n3", &Labels::new()));
        let open = selector(&json!([name("In", "n1"), name("NotIn", "n2")]));
        assert_eq!(open.named_nodes(), None);
    }
}
