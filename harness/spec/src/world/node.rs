//! Nodes: labels, taints, and whether they take new pods.

use capacity_types::Labels;
use serde::Deserialize;

use super::metadata::Metadata;

/// A Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
}

/// One of `spec.taints`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value; empty where the API leaves it out.
    #[serde(default)]
    pub value: String,
    /// What it does to pods that do not tolerate it.
    pub effect: Effect,
}

/// The effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Effect {
    /// New pods stay away.
    NoSchedule,
    /// New pods stay away, and those on the node have to go.
    NoExecute,
    /// New pods stay away where they can.
    PreferNoSchedule,
}

impl Effect {
    /// Whether it keeps a new pod away for sure.
    pub fn excludes(self) -> bool {
        self != Effect::PreferNoSchedule
    }
}

/// As the API sends it.
#[derive(Deserialize)]
pub(super) struct NodeJson {
    metadata: Metadata,
    #[serde(default)]
    spec: Option<Spec>,
}

#[derive(Deserialize, Default)]
struct Spec {
    #[serde(default)]
    unschedulable: bool,
    #[serde(default)]
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
