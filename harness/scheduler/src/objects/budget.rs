//! PodDisruptionBudget: the selected pods and the number of allowed disruptions.

use std::collections::BTreeSet;

use capacity_types::LabelSelector;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use super::selector::label_selector;
use super::{Object, ObjectKey, Pod, ReadError, version};

/// One PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisruptionBudget {
    /// Namespace and name of the PodDisruptionBudget.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// `spec.selector`. `None` selects no pod. kube-scheduler treats an empty selector as `None`, although in policy/v1 it selects all
    /// pods.
    pub selector: Option<LabelSelector>,
    /// `status.disruptionsAllowed`: the number of pods that may be evicted.
    pub allowed: i32,
    /// Names in `status.disruptedPods`: pods whose evictions the API server has already counted.
    pub disrupted: BTreeSet<String>,
}

impl DisruptionBudget {
    /// Whether the eviction of the pod counts towards this budget.
    pub fn protects(&self, pod: &Pod) -> bool {
        let selects = |selector: &LabelSelector| !pod.labels.is_empty() && selector.matches(&pod.labels);
        self.key.namespace == pod.key.namespace
            && self.selector.as_ref().is_some_and(selects)
            && !self.disrupted.contains(&pod.key.name)
    }
}

impl Object for DisruptionBudget {
    type Api = PodDisruptionBudget;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        let selector = source.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        let selector = selector.filter(|selector| {
            let has_labels = selector.match_labels.as_ref().is_some_and(|it| !it.is_empty());
            has_labels
                || selector
                    .match_expressions
                    .as_ref()
                    .is_some_and(|it| !it.is_empty())
        });
        let status = source.status.as_ref();
        let disrupted = status.and_then(|status| status.disrupted_pods.as_ref());
        Ok(Self {
            key: ObjectKey::of(&source.metadata),
            version: version(&source.metadata),
            selector: selector.and_then(|selector| label_selector(selector).ok()),
            allowed: status.and_then(|status| status.disruptions_allowed).unwrap_or(0),
            disrupted: disrupted
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect(),
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}
