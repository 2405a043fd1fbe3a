//! PersistentVolumeClaims, with the fields that rules use.

use std::collections::BTreeSet;

use capacity_types::{LabelSelector, Quantity};
use serde::Deserialize;

use super::capacity::quantity;
use super::metadata::{Metadata, NamespacedName, Owner};
use super::selection::LabelSelectorJson;

const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Beta annotation with the name of the StorageClass. The annotation takes precedence over `spec.storageClassName`.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The fields of a PersistentVolumeClaim that rules use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// `metadata.uid`.
    pub uid: String,
    /// Name of the StorageClass. Empty: the PVC has none.
    pub class: String,
    /// `spec.resources.requests.storage`.
    pub request: Option<Quantity>,
    /// `spec.volumeName`. Empty: the PVC has no volume.
    pub volume: String,
    /// Whether the annotation `pv.kubernetes.io/bind-completed` is set.
    pub is_bound: bool,
    /// The node in the annotation `volume.kubernetes.io/selected-node`.
    pub selected_node: Option<String>,
    /// Whether `status.phase` is Lost, because the PV was deleted.
    pub is_lost: bool,
    /// Whether `metadata.deletionTimestamp` is set.
    pub is_deleted: bool,
    /// `metadata.ownerReferences`.
    pub owners: Vec<Owner>,
    /// Whether `spec.volumeMode` is Block.
    pub is_block: bool,
    /// `spec.accessModes`.
    pub access_modes: BTreeSet<String>,
    /// Whether `spec.dataSource` is a PVC, which is to be cloned.
    pub is_clone: bool,
    /// `spec.selector`, which selects existing PVs.
    pub selector: Option<LabelSelector>,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: String,
}

/// The fields of a PersistentVolumeClaim that rules use, as JSON in the API.
#[derive(Deserialize)]
pub(super) struct ClaimJson {
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
    resources: Resources,
    volume_name: Option<String>,
    volume_mode: Option<String>,
    access_modes: Option<BTreeSet<String>>,
    data_source: Option<DataSource>,
    selector: Option<LabelSelectorJson>,
    volume_attributes_class_name: Option<String>,
}

#[derive(Deserialize)]
struct DataSource {
    kind: String,
}

#[derive(Deserialize, Default)]
struct Resources {
    #[serde(default)]
    requests: Requests,
}

#[derive(Deserialize, Default)]
struct Requests {
    #[serde(default, deserialize_with = "quantity")]
    storage: Option<Quantity>,
}

#[derive(Deserialize, Default)]
struct Status {
    phase: Option<String>,
}

impl From<ClaimJson> for (NamespacedName, Claim) {
    fn from(mut json: ClaimJson) -> Self {
        let key = json.metadata.key();
        let annotated = json.metadata.annotation(CLASS_ANNOTATION).cloned();
        let source = json.spec.data_source.take();
        let claim = Claim {
            is_clone: source.is_some_and(|source| source.kind == "PersistentVolumeClaim"),
            class: annotated.or(json.spec.storage_class_name).unwrap_or_default(),
            request: json.spec.resources.requests.storage,
            volume: json.spec.volume_name.unwrap_or_default(),
            is_bound: json.metadata.annotation(BIND_COMPLETED).is_some(),
            selected_node: json.metadata.annotation(SELECTED_NODE).cloned(),
            is_lost: json.status.phase.as_deref() == Some("Lost"),
            is_deleted: json.metadata.deletion_timestamp.is_some(),
            uid: json.metadata.uid.unwrap_or_default(),
            owners: json.metadata.owner_references.unwrap_or_default(),
            is_block: json.spec.volume_mode.as_deref() == Some("Block"),
            access_modes: json.spec.access_modes.unwrap_or_default(),
            // An invalid selector counts as unset: the API server rejects it.
            selector: json.spec.selector.and_then(|selector| selector.compile().ok()),
            attributes_class: json.spec.volume_attributes_class_name.unwrap_or_default(),
        };
        (key, claim)
    }
}
