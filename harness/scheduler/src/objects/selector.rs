//! Compiles label selectors, node selectors and `nodeTopology` from the API types.

use capacity_types::{Expression, LabelSelector, NodeSelector, NodeTopology, RequirementError};
use k8s_openapi::api::core::v1::{NodeSelector as ApiNodeSelector, NodeSelectorRequirement};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as ApiLabelSelector;

/// Compiles a label selector. Fails if the API server would reject it.
pub fn label_selector(source: &ApiLabelSelector) -> Result<LabelSelector, RequirementError> {
    with_requirements(source, [])
}

/// Compiles a label selector with additional requirements.
pub(super) fn with_requirements<'a>(
    source: &'a ApiLabelSelector,
    requirements: impl IntoIterator<Item = Expression<'a>>,
) -> Result<LabelSelector, RequirementError> {
    let labels = source.match_labels.iter().flatten();
    let expressions = source.match_expressions.iter().flatten().map(|it| Expression {
        key: &it.key,
        operator: &it.operator,
        values: it.values.as_deref().unwrap_or_default(),
    });
    LabelSelector::compile(labels, expressions.chain(requirements))
}

/// Compiles the `nodeTopology` of a CSIStorageCapacity. An unset field differs from `{}`.
pub(super) fn node_topology(source: Option<&ApiLabelSelector>) -> NodeTopology {
    NodeTopology::new(source.map(label_selector))
}

/// Compiles a node selector of a pod or a PersistentVolume.
pub fn node_selector(source: &ApiNodeSelector) -> NodeSelector {
    let terms = source.node_selector_terms.iter();
    NodeSelector::compile(terms.map(|term| {
        (
            expressions(&term.match_expressions),
            expressions(&term.match_fields),
        )
    }))
}

fn expressions(list: &Option<Vec<NodeSelectorRequirement>>) -> impl Iterator<Item = Expression<'_>> {
    list.iter().flatten().map(|it| Expression {
        key: &it.key,
        operator: &it.operator,
        values: it.values.as_deref().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use std::collections::BTreeSet;

    use capacity_types::Labels;

    use super::*;

    fn selector(terms: &Value) -> NodeSelector {
        let source: ApiNodeSelector = serde_json::from_value(json!({ "nodeSelectorTerms": terms })).unwrap();
        node_selector(&source)
    }

    fn zone(value: &str) -> Labels {
        [("zone".to_owned(), value.to_owned())].into()
    }

    #[test]
    fn terms_are_ored_and_requirements_are_anded() {
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
    fn named_nodes_requires_names_in_every_term() {
        let name = |operator: &str, value: &str| json!({"matchFields": [{"key": "metadata.name", "operator": operator, "values": [value]}]});
        let two = selector(&json!([name("In", "n1"), name("In", "n2")]));
        assert_eq!(two.named_nodes(), Some(BTreeSet::from(["n1", "n2"])));
        assert!(two.matches("n2", &Labels::new()) && !two.matches("n3", &Labels::new()));
        let open = selector(&json!([name("In", "n1"), name("NotIn", "n2")]));
        assert_eq!(open.named_nodes(), None);
    }
}
