//! Label selectors and `nodeTopology`, compiled from the API's types.

use capacity_types::{Expression, LabelSelector, NodeTopology, RequirementError};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as ApiLabelSelector;

/// Compiles a label selector. Errors when the API server would refuse it.
pub fn label_selector(source: &ApiLabelSelector) -> Result<LabelSelector, RequirementError> {
    with_more(source, [])
}

/// Compiles a label selector with more requirements than it has.
pub(super) fn with_more<'a>(
    source: &'a ApiLabelSelector,
    more: impl IntoIterator<Item = Expression<'a>>,
) -> Result<LabelSelector, RequirementError> {
    let labels = source.match_labels.iter().flatten();
    let expressions = source.match_expressions.iter().flatten().map(|it| Expression {
        key: &it.key,
        operator: &it.operator,
        values: it.values.as_deref().unwrap_or_default(),
    });
    LabelSelector::compile(labels, expressions.chain(more))
}

/// Compiles the `nodeTopology` of a CSIStorageCapacity; none is something else than `{}`.
pub(super) fn node_topology(source: Option<&ApiLabelSelector>) -> NodeTopology {
    NodeTopology::new(source.map(label_selector))
}
