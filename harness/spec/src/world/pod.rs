//! Pods: their volumes and constraints on nodes.

use capacity_types::{Labels, NodeSelector, ephemeral_claim_name};
use serde::Deserialize;

use super::metadata::{Metadata, NamespacedName};
use super::node::{Effect, Taint};
use super::selection::NodeSelectorJson;

/// The fields of a Pod that rules use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// `metadata.uid`.
    pub uid: String,
    /// `spec.nodeName`.
    pub node: Option<String>,
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`.
    pub affinity: Option<NodeSelector>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.volumes`, without volumes that do not affect storage.
    pub volumes: Vec<PodVolume>,
    /// Message of the PodScheduled condition with reason Unschedulable.
    pub unschedulable_message: Option<String>,
}

/// A volume of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodVolume {
    /// `persistentVolumeClaim`, with the name of the PVC.
    Claim(String),
    /// `ephemeral`, with the name of the PVC that is created for the pod.
    Ephemeral(String),
    /// `csi`: an inline volume of the driver with this name.
    Inline(String),
}

/// An entry of `spec.tolerations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Toleration {
    /// Key of the taint. If empty and the operator is `Exists`, the toleration matches every key.
    pub key: String,
    /// Operator: `Equal` or `Exists`. Empty means `Equal`.
    pub operator: String,
    /// Value of the taint, which is compared unless the operator is `Exists`.
    pub value: String,
    /// Effect of the taint. `None`: every effect.
    pub effect: Option<Effect>,
}

impl Pod {
    /// Whether the pod's node selector and affinity match a node with this name and these labels.
    pub fn selects(&self, name: &str, labels: &Labels) -> bool {
        let mut wanted = self.node_selector.iter();
        wanted.all(|(key, value)| labels.get(key) == Some(value))
            && self.affinity.as_ref().is_none_or(|it| it.matches(name, labels))
    }

    /// Whether the pod tolerates a taint.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|it| it.covers(taint))
    }
}

impl Toleration {
    fn covers(&self, taint: &Taint) -> bool {
        let exists = self.operator == "Exists";
        let key = self.key == taint.key || (self.key.is_empty() && exists);
        let effect = self.effect.is_none_or(|effect| effect == taint.effect);
        key && effect && (exists || self.value == taint.value)
    }
}

/// The fields of a Pod that rules use, as JSON in the API.
#[derive(Deserialize)]
pub(super) struct PodJson {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Default)]
struct Status {
    conditions: Option<Vec<Condition>>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
    node_selector: Option<Labels>,
    affinity: Option<Affinity>,
    tolerations: Option<Vec<Toleration>>,
    volumes: Option<Vec<VolumeJson>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Affinity {
    node_affinity: Option<NodeAffinity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeAffinity {
    #[serde(default, rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<NodeSelectorJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VolumeJson {
    name: String,
    persistent_volume_claim: Option<ClaimSource>,
    ephemeral: Option<EphemeralSource>,
    csi: Option<CsiSource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimSource {
    claim_name: String,
}

#[derive(Deserialize)]
struct EphemeralSource {}

#[derive(Deserialize)]
struct CsiSource {
    driver: String,
}

impl From<PodJson> for (NamespacedName, Pod) {
    fn from(mut json: PodJson) -> Self {
        let key = json.metadata.key();
        let affinity = json.spec.affinity.and_then(|it| it.node_affinity);
        let volumes = json.spec.volumes.unwrap_or_default();
        let mut conditions = json.status.conditions.unwrap_or_default().into_iter();
        let refused = conditions.find(|condition| condition.reason == "Unschedulable");
        let pod = Pod {
            uid: json.metadata.uid.unwrap_or_default(),
            node: json.spec.node_name.filter(|name| !name.is_empty()),
            node_selector: json.spec.node_selector.unwrap_or_default(),
            affinity: affinity.and_then(|it| it.required).map(NodeSelector::from),
            tolerations: json.spec.tolerations.unwrap_or_default(),
            volumes: volumes
                .into_iter()
                .filter_map(|it| volume(&key.name, it))
                .collect(),
            unschedulable_message: refused.map(|condition| condition.message),
        };
        (key, pod)
    }
}

fn volume(pod: &str, json: VolumeJson) -> Option<PodVolume> {
    if let Some(source) = json.persistent_volume_claim {
        return Some(PodVolume::Claim(source.claim_name));
    }
    if json.ephemeral.is_some() {
        return Some(PodVolume::Ephemeral(ephemeral_claim_name(pod, &json.name)));
    }
    json.csi.map(|source| PodVolume::Inline(source.driver))
}
