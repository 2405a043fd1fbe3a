//! Selectors as the API spells them: label selectors, and the terms that select nodes for pods and volumes.

use std::collections::BTreeMap;

use capacity_types::{Expression, LabelSelector, Labels, Operator, Requirement, RequirementError};
use serde::Deserialize;

/// The field that a term may select a node by: its name.
const NAME: &str = "metadata.name";

/// A label selector as the API sends it.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct LabelSelectorJson {
    #[serde(default)]
    match_labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    match_expressions: Option<Vec<ExpressionJson>>,
}

#[derive(Deserialize)]
struct ExpressionJson {
    key: String,
    operator: String,
    #[serde(default)]
    values: Option<Vec<String>>,
}

impl ExpressionJson {
    fn values(&self) -> &[String] {
        self.values.as_deref().unwrap_or_default()
    }
}

impl LabelSelectorJson {
    pub(super) fn is_in_labels(&self) -> bool {
        self.match_expressions.as_ref().is_none_or(Vec::is_empty)
    }

    pub(super) fn compile(&self) -> Result<LabelSelector, RequirementError> {
        let labels = self.match_labels.iter().flatten();
        let expressions = self.match_expressions.iter().flatten();
        LabelSelector::compile(
            labels,
            expressions.map(|it| Expression {
                key: &it.key,
                operator: &it.operator,
                values: it.values(),
            }),
        )
    }
}

/// Node selector terms: a node is selected if it meets all conditions of one of them. A term without conditions selects no node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTerms(Vec<Term>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Term {
    labels: Vec<Requirement>,
    name: Vec<Requirement>,
    /// A condition that cannot be evaluated: the term selects no node.
    is_broken: bool,
}

impl NodeTerms {
    /// The node with this label.
    pub fn labelled(key: &str, value: &str) -> Self {
        let requirement = Requirement::compile(key, "In", &[value.to_owned()], &[Operator::In]);
        NodeTerms(vec![Term {
            is_broken: requirement.is_err(),
            labels: requirement.into_iter().collect(),
            name: Vec::new(),
        }])
    }

    /// A label that every selected node has, if there is one that can be told.
    pub(crate) fn label(&self) -> Option<(&str, &str)> {
        let [term] = self.0.as_slice() else {
            return None;
        };
        term.labels
            .iter()
            .find_map(|requirement| match requirement.listed()? {
                [value] => Some((requirement.key(), value.as_str())),
                _ => None,
            })
    }

    /// Whether a node is selected.
    pub fn select(&self, name: &str, labels: &Labels) -> bool {
        self.0.iter().any(|term| {
            let has_conditions = !term.labels.is_empty() || !term.name.is_empty();
            !term.is_broken
                && has_conditions
                && term.labels.iter().all(|it| it.matches(labels))
                && term.name.iter().all(|it| it.matches_value(Some(name)))
        })
    }
}

/// A node selector as the API sends it.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeSelectorJson {
    #[serde(default)]
    node_selector_terms: Option<Vec<TermJson>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TermJson {
    #[serde(default)]
    match_expressions: Option<Vec<ExpressionJson>>,
    #[serde(default)]
    match_fields: Option<Vec<ExpressionJson>>,
}

/// The operators of a node selector on labels.
const OPERATORS: [Operator; 6] = [
    Operator::In,
    Operator::NotIn,
    Operator::Exists,
    Operator::DoesNotExist,
    Operator::Gt,
    Operator::Lt,
];

impl From<NodeSelectorJson> for NodeTerms {
    fn from(json: NodeSelectorJson) -> Self {
        let terms = json.node_selector_terms.unwrap_or_default();
        NodeTerms(terms.iter().map(term).collect())
    }
}

fn term(json: &TermJson) -> Term {
    let mut term = Term::default();
    for it in json.match_expressions.iter().flatten() {
        match Requirement::compile(&it.key, &it.operator, it.values(), &OPERATORS) {
            Ok(requirement) => term.labels.push(requirement),
            Err(_) => term.is_broken = true,
        }
    }
    for it in json.match_fields.iter().flatten() {
        let allowed = [Operator::In, Operator::NotIn];
        match Requirement::compile_field(&it.key, &it.operator, it.values(), &allowed) {
            Ok(requirement) if it.key == NAME => term.name.push(requirement),
            _ => term.is_broken = true,
        }
    }
    term
}
