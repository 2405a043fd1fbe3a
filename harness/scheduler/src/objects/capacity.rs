//! CSIStorageCapacity objects (KEP-1472).
//!
//! The scheduler uses the namespace only to distinguish objects, and ignores the labels.

use capacity_types::{NodeTopology, Quantity};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;

use serde_json::Value;

use super::selector::node_topology;
use super::{Object, ObjectKey, ReadError, annotation, quantity, version};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// One CSIStorageCapacity object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Namespace and name of the CSIStorageCapacity object.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// `storageClassName`: the StorageClass to which the values apply.
    pub class: String,
    /// `nodeTopology`: the nodes with access to the storage.
    pub topology: NodeTopology,
    /// `capacity`: available bytes. Used for scores, and compared with requests if `maximumVolumeSize` is unset.
    pub capacity: Option<Quantity>,
    /// `maximumVolumeSize`: the largest volume in bytes. If set, requests are compared only with this value.
    pub maximum: Option<Quantity>,
    /// Whether `nodeTopology` was written with `nodeSelectorTerms`, which the type lacks: the server drops the field, and the remaining
    /// empty selector matches every node. The examples in early versions of the KEP contain this error.
    pub dropped_terms: bool,
}

impl Capacity {
    /// The value that is compared with requests: `maximumVolumeSize`, else `capacity`.
    pub fn largest_volume(&self) -> Option<Quantity> {
        self.maximum.or(self.capacity)
    }
}

impl Object for Capacity {
    type Api = CSIStorageCapacity;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        let key = ObjectKey::of(&source.metadata);
        Ok(Self {
            version: version(&source.metadata),
            class: source.storage_class_name.clone(),
            topology: node_topology(source.node_topology.as_ref()),
            capacity: quantity(&key, "capacity", source.capacity.as_ref())?,
            dropped_terms: was_applied_with_terms(source),
            maximum: quantity(&key, "maximumVolumeSize", source.maximum_volume_size.as_ref())?,
            key,
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}

/// Whether the last-applied annotation of `kubectl apply` contains `nodeSelectorTerms`.
fn was_applied_with_terms(source: &CSIStorageCapacity) -> bool {
    let Some(applied) = annotation(&source.metadata, LAST_APPLIED) else {
        return false;
    };
    let applied: Result<Value, _> = serde_json::from_str(applied);
    applied.is_ok_and(|applied| !applied["nodeTopology"]["nodeSelectorTerms"].is_null())
}
