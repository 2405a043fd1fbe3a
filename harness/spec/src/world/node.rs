//! Nodes: labels, taints, and whether they are schedulable.

use capacity_types::Labels;
use serde::Deserialize;

use super::metadata::Metadata;

/// The fields of a Node that rules use, without its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
}

/// An entry of `spec.taints`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Taint {
    /// Key of the taint.
    pub key: String,
    /// Value of the taint; empty if unset.
    #[serde(default)]
    pub value: String,
    /// Effect of the taint on pods that do not tolerate it.
    pub effect: Effect,
}

/// The effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Effect {
    /// The scheduler does not select the node.
    NoSchedule,
    /// The scheduler does not select the node, and pods on the node are evicted.
    NoExecute,
    /// The scheduler avoids the node if possible.
    PreferNoSchedule,
}

impl Effect {
    /// Whether the scheduler must not select a node with a taint of this effect.
    pub fn excludes(self) -> bool {
        self != Effect::PreferNoSchedule
    }
}

/// The fields of a Node that rules use, as JSON in the API.
#[derive(Deserialize)]
pub(super) struct NodeJson {
    metadata: Metadata,
    spec: Option<Spec>,
}

#[derive(Deserialize, Default)]
struct Spec {
    #[serde(default)]
    unschedulable: bool,
    taints: Option<Vec<Taint>>,
}

impl From<NodeJson> for (String, Node) {
    fn from(json: NodeJson) -> Self {
        let spec = json.spec.unwrap_or_default();
        let node = Node {
            labels: json.metadata.labels.unwrap_or_default(),
            taints: spec.taints.unwrap_or_default(),
            unschedulable: spec.unschedulable,
        };
        (json.metadata.name, node)
    }
}
