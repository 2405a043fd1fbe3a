//! The JSON representation of label selectors and node selectors.

use std::collections::BTreeMap;

use capacity_types::{Expression, LabelSelector, NodeSelector, RequirementError};
use serde::Deserialize;

/// A label selector, as JSON in the API.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct LabelSelectorJson {
    match_labels: Option<BTreeMap<String, String>>,
    match_expressions: Option<Vec<ExpressionJson>>,
}

#[derive(Deserialize)]
struct ExpressionJson {
    key: String,
    operator: String,
    values: Option<Vec<String>>,
}

impl LabelSelectorJson {
    pub(super) fn has_only_match_labels(&self) -> bool {
        self.match_expressions.as_ref().is_none_or(Vec::is_empty)
    }

    pub(super) fn compile(&self) -> Result<LabelSelector, RequirementError> {
        let labels = self.match_labels.iter().flatten();
        LabelSelector::compile(labels, ExpressionJson::expressions(&self.match_expressions))
    }
}

/// A node selector, as JSON in the API.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeSelectorJson {
    node_selector_terms: Option<Vec<TermJson>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TermJson {
    match_expressions: Option<Vec<ExpressionJson>>,
    match_fields: Option<Vec<ExpressionJson>>,
}

impl ExpressionJson {
    fn expressions(list: &Option<Vec<ExpressionJson>>) -> impl Iterator<Item = Expression<'_>> {
        list.iter().flatten().map(|it| Expression {
            key: &it.key,
            operator: &it.operator,
            values: it.values.as_deref().unwrap_or_default(),
        })
    }
}

impl From<NodeSelectorJson> for NodeSelector {
    fn from(json: NodeSelectorJson) -> Self {
        let terms = json.node_selector_terms.iter().flatten();
        NodeSelector::compile(terms.map(|term| {
            let of = ExpressionJson::expressions;
            (of(&term.match_expressions), of(&term.match_fields))
        }))
    }
}
