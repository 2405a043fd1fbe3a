//! Topology spread constraints that a pod must meet (`whenUnsatisfiable: DoNotSchedule`). Others only order nodes.

use capacity_types::{LabelSelector, Labels};
use k8s_openapi::api::core::v1::TopologySpreadConstraint as ApiConstraint;

use super::pod_affinity::with_keys;

/// One constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpreadConstraint {
    /// Nodes with the same value of this label are one domain.
    pub topology_key: String,
    /// So many more pods than in the emptiest domain may be in a domain.
    pub max_skew: i64,
    /// With fewer domains than these the emptiest one counts as having no pods.
    pub min_domains: usize,
    /// The pods that are counted; none where `labelSelector` is absent.
    pub selector: Option<LabelSelector>,
    /// Only nodes that the pod's node selector and affinity match are counted (`nodeAffinityPolicy`).
    pub honors_affinity: bool,
    /// Only nodes whose taints the pod tolerates are counted (`nodeTaintsPolicy`).
    pub honors_taints: bool,
}

impl SpreadConstraint {
    /// Compiles the constraints that a pod with these labels must meet.
    pub(super) fn compile(labels: &Labels, constraints: Option<&Vec<ApiConstraint>>) -> Vec<Self> {
        let constraints = constraints.into_iter().flatten();
        let required = constraints.filter(|constraint| constraint.when_unsatisfiable == "DoNotSchedule");
        let compile = |constraint: &ApiConstraint| {
            let keys = constraint.match_label_keys.iter().flatten();
            let selector = constraint.label_selector.as_ref();
            Self {
                topology_key: constraint.topology_key.clone(),
                max_skew: constraint.max_skew.into(),
                min_domains: constraint
                    .min_domains
                    .and_then(|domains| usize::try_from(domains).ok())
                    .unwrap_or(1),
                selector: selector
                    .and_then(|selector| with_keys(selector, labels, keys.map(|key| ("In", key)))),
                honors_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
                honors_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
            }
        };
        required.map(compile).collect()
    }
}
