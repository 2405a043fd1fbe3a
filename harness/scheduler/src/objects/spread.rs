//! Topology spread constraints with `whenUnsatisfiable: DoNotSchedule`. Other constraints only affect scores.

use capacity_types::{LabelSelector, Labels};
use k8s_openapi::api::core::v1::TopologySpreadConstraint as ApiConstraint;

use super::pod_affinity::with_label_keys;

/// One topology spread constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpreadConstraint {
    /// `topologyKey`: nodes with the same value of this label form one topology domain.
    pub topology_key: String,
    /// `maxSkew`: by how many pods a domain may exceed the domain with the fewest pods.
    pub max_skew: i64,
    /// `minDomains`: if there are fewer domains, the minimum number of matching pods per domain counts as 0.
    pub min_domains: usize,
    /// Selector of the pods that are counted. `None` if `labelSelector` is unset.
    pub selector: Option<LabelSelector>,
    /// Count only nodes that match the pod's node selector and affinity (`nodeAffinityPolicy`).
    pub honors_affinity: bool,
    /// Count only nodes whose taints the pod tolerates (`nodeTaintsPolicy`).
    pub honors_taints: bool,
}

impl SpreadConstraint {
    /// Compiles the `DoNotSchedule` constraints of a pod. `labels`: the pod's labels, for `matchLabelKeys`.
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
                    .and_then(|selector| with_label_keys(selector, labels, keys.map(|key| ("In", key)))),
                honors_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
                honors_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
            }
        };
        required.map(compile).collect()
    }
}
