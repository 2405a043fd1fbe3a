//! CSIStorageCapacity (KEP-1472), compiled.
//!
//! A scheduler uses the namespace only to distinguish two objects, and ignores the labels.

use capacity_types::{NodeTopology, Quantity};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;

use serde_json::Value;

use super::selector::node_topology;
use super::{Object, ObjectKey, ReadError, annotation, quantity, version};

/// What `kubectl apply` sent last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// One CSIStorageCapacity object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Namespace and name.
    pub key: ObjectKey,
    /// The resource version read.
    pub version: String,
    /// `storageClassName`: the class that the numbers hold for.
    pub class: String,
    /// `nodeTopology`: the nodes with access.
    pub topology: NodeTopology,
    /// `capacity`: bytes left, for filtering where no maximum is set, and for scoring.
    pub capacity: Option<Quantity>,
    /// `maximumVolumeSize`: the largest volume in bytes. It decides alone where it is set.
    pub maximum: Option<Quantity>,
    /// `nodeTopology` was written with `nodeSelectorTerms`, which is no field of it: the server drops them, and what is
    /// left is every node. The examples of the KEP's first versions make that mistake.
    pub dropped_terms: bool,
}

impl Capacity {
    /// What a request is compared with: the maximum volume size, and the capacity where that is unset.
    pub fn limit(&self) -> Option<Quantity> {
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

    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.version
    }
}

/// What `kubectl apply` sent stays visible in an annotation.
fn was_applied_with_terms(source: &CSIStorageCapacity) -> bool {
    let Some(applied) = annotation(&source.metadata, LAST_APPLIED) else {
        return false;
    };
    let applied: Result<Value, _> = serde_json::from_str(applied);
    applied.is_ok_and(|applied| !applied["nodeTopology"]["nodeSelectorTerms"].is_null())
}
