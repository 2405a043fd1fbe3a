//! StorageClass: provisioner, binding mode, allowed topologies. CSIDriver: whether capacity is tracked.

use std::collections::BTreeSet;

use capacity_types::Labels;
use k8s_openapi::api::core::v1::TopologySelectorTerm;
use k8s_openapi::api::storage::v1::{CSIDriver, StorageClass};

use super::{Object, ObjectKey, ReadError, version};

/// One StorageClass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Name of the StorageClass.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// `provisioner`: for CSI, the driver name.
    pub provisioner: String,
    /// Whether `volumeBindingMode` is WaitForFirstConsumer: PVCs are bound after a node was selected.
    pub delayed: bool,
    /// `allowedTopologies`: where volumes may be provisioned.
    pub allowed: Vec<AllowedTopology>,
}

/// One term of `allowedTopologies`: label keys with their allowed values.
pub type AllowedTopology = Vec<(String, BTreeSet<String>)>;

impl Class {
    /// Whether `allowedTopologies` allows volumes for a node with these labels. Without terms, every node is allowed. Terms are ORed; a
    /// term without expressions allows no node.
    pub fn admits(&self, labels: &Labels) -> bool {
        let holds = |(key, values): &(String, BTreeSet<String>)| {
            labels.get(key).is_some_and(|value| values.contains(value))
        };
        let term_admits = |term: &AllowedTopology| !term.is_empty() && term.iter().all(holds);
        self.allowed.is_empty() || self.allowed.iter().any(term_admits)
    }
}

impl Object for Class {
    type Api = StorageClass;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        let terms = source.allowed_topologies.as_deref().unwrap_or_default();
        Ok(Self {
            key: ObjectKey::of(&source.metadata),
            version: version(&source.metadata),
            provisioner: source.provisioner.clone(),
            delayed: source.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"),
            allowed: terms.iter().map(allowed_topology).collect(),
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}

fn allowed_topology(term: &TopologySelectorTerm) -> AllowedTopology {
    let expressions = term.match_label_expressions.iter().flatten();
    expressions
        .map(|expression| {
            (
                expression.key.clone(),
                expression.values.iter().cloned().collect(),
            )
        })
        .collect()
}

/// One CSIDriver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Name of the CSIDriver, which is the driver name.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// Whether `spec.storageCapacity` is true, so that a missing capacity object means no capacity.
    pub tracks_capacity: bool,
}

impl Object for Driver {
    type Api = CSIDriver;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        Ok(Self {
            key: ObjectKey::of(&source.metadata),
            version: version(&source.metadata),
            tracks_capacity: source.spec.storage_capacity == Some(true),
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}
