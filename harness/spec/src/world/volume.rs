//! PersistentVolumes: node affinity and the bound PVC.

use std::collections::BTreeSet;

use capacity_types::{Labels, NodeSelector, Quantity};
use serde::Deserialize;

use super::capacity::quantity;
use super::metadata::{Metadata, NamespacedName};
use super::selection::NodeSelectorJson;

/// The fields of a PersistentVolume that rules use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.storageClassName`.
    pub class: String,
    /// `spec.capacity.storage`.
    pub capacity: Option<Quantity>,
    /// Whether `status.phase` is Available.
    pub is_available: bool,
    /// `spec.claimRef`: the PVC for which the volume is reserved.
    pub claim: Option<ClaimRef>,
    /// `spec.nodeAffinity.required`. `None`: the volume is accessible from every node.
    pub affinity: Option<NodeSelector>,
    /// Whether `spec.volumeMode` is Block.
    pub is_block: bool,
    /// `spec.accessModes`.
    pub access_modes: BTreeSet<String>,
    /// `spec.csi.driver`. Empty: the volume is not a CSI volume.
    pub driver: String,
    /// `spec.csi.volumeHandle`. Empty: the volume is not a CSI volume.
    pub handle: String,
    /// Whether `spec.persistentVolumeReclaimPolicy` is Delete, so that the volume is deleted after its PVC.
    pub is_reclaimed: bool,
    /// Whether `metadata.deletionTimestamp` is set.
    pub is_deleted: bool,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: String,
}

/// `spec.claimRef` of a PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimRef {
    /// Namespace and name of the PVC.
    pub claim: NamespacedName,
    /// UID of the PVC. Empty: any PVC with this name.
    pub uid: String,
}

impl Volume {
    /// Whether the volume is accessible from a node.
    pub fn is_reachable(&self, node: &str, labels: &Labels) -> bool {
        self.affinity.as_ref().is_none_or(|it| it.matches(node, labels))
    }
}

/// The fields of a PersistentVolume that rules use, as JSON in the API.
#[derive(Deserialize)]
pub(super) struct VolumeJson {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Spec {
    storage_class_name: Option<String>,
    #[serde(default)]
    capacity: Capacity,
    claim_ref: Option<ClaimRefJson>,
    node_affinity: Option<Affinity>,
    volume_mode: Option<String>,
    access_modes: Option<BTreeSet<String>>,
    csi: Option<Csi>,
    persistent_volume_reclaim_policy: Option<String>,
    volume_attributes_class_name: Option<String>,
}

#[derive(Deserialize, Default)]
struct Capacity {
    #[serde(default, deserialize_with = "quantity")]
    storage: Option<Quantity>,
}

#[derive(Deserialize)]
struct ClaimRefJson {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    uid: Option<String>,
}

#[derive(Deserialize)]
struct Affinity {
    required: Option<NodeSelectorJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Csi {
    driver: String,
    #[serde(default)]
    volume_handle: String,
}

#[derive(Deserialize, Default)]
struct Status {
    phase: Option<String>,
}

impl From<VolumeJson> for (String, Volume) {
    fn from(json: VolumeJson) -> Self {
        let claim = json.spec.claim_ref.map(|it| ClaimRef {
            claim: NamespacedName::new(it.namespace, it.name),
            uid: it.uid.unwrap_or_default(),
        });
        let policy = json.spec.persistent_volume_reclaim_policy.as_deref();
        let is_reclaimed = policy == Some("Delete");
        let (driver, handle) = match json.spec.csi {
            Some(csi) => (csi.driver, csi.volume_handle),
            None => Default::default(),
        };
        let affinity = json.spec.node_affinity.and_then(|it| it.required);
        let volume = Volume {
            labels: json.metadata.labels.unwrap_or_default(),
            class: json.spec.storage_class_name.unwrap_or_default(),
            capacity: json.spec.capacity.storage,
            is_available: json.status.phase.as_deref() == Some("Available"),
            claim,
            affinity: affinity.map(NodeSelector::from),
            is_block: json.spec.volume_mode.as_deref() == Some("Block"),
            access_modes: json.spec.access_modes.unwrap_or_default(),
            driver,
            handle,
            is_reclaimed,
            is_deleted: json.metadata.deletion_timestamp.is_some(),
            attributes_class: json.spec.volume_attributes_class_name.unwrap_or_default(),
        };
        (json.metadata.name, volume)
    }
}
