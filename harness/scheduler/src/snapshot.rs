//! The cluster state that a scheduling attempt uses.
//!
//! Owns objects and assumed decisions. Makes no decisions.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::attachments::Attachments;
use crate::capacity_index::CapacityIndex;
use crate::node_pods::NodePods;
use crate::objects::{
    Claim, Class, CsiNode, DisruptionBudget, Driver, Lease, Namespace, Node, ObjectKey, Volume,
};
use crate::store::Store;
use crate::volume_index::VolumeIndex;

/// All inputs of a scheduling decision other than the pod.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The nodes.
    pub nodes: Store<Node>,
    /// The PVCs of all namespaces.
    pub claims: Store<Claim>,
    /// The PersistentVolumes.
    pub volumes: VolumeIndex,
    /// The StorageClasses.
    pub classes: Store<Class>,
    /// The CSIDrivers.
    pub drivers: Store<Driver>,
    /// The CSIStorageCapacity objects of all namespaces.
    pub capacities: CapacityIndex,
    /// The CSINodes.
    pub csi_nodes: Store<CsiNode>,
    /// The VolumeAttachments.
    pub attachments: Attachments,
    /// The namespaces.
    pub namespaces: Store<Namespace>,
    /// The PodDisruptionBudgets. Only a dump, or a cluster that `cargo xtask why` listed, contains them: the scheduling loop does not watch
    /// them.
    pub budgets: Store<DisruptionBudget>,
    /// The Leases of controllers and nodes. The scheduling loop does not watch them.
    pub leases: Store<Lease>,
    /// The pods on nodes.
    pub pods: NodePods,
    /// CSIDriver objects that cannot be parsed, with the errors.
    pub unreadable_drivers: Unreadable,
    /// CSIStorageCapacity objects that cannot be parsed, with the errors.
    pub unreadable_capacities: Unreadable,
}

/// Objects of one kind that cannot be parsed, with the errors.
pub type Unreadable = BTreeMap<ObjectKey, String>;

impl Snapshot {
    /// The StorageClass with this name.
    pub fn class(&self, name: &str) -> Option<&Arc<Class>> {
        self.classes.get(&ObjectKey::cluster(name))
    }

    /// The PersistentVolume with this name, including assumed changes.
    pub fn volume(&self, name: &str) -> Option<&Arc<Volume>> {
        self.volumes.get(&ObjectKey::cluster(name))
    }

    /// The CSIDriver with this name.
    pub fn driver(&self, name: &str) -> Option<&Arc<Driver>> {
        self.drivers.get(&ObjectKey::cluster(name))
    }

    /// The error if the CSIDriver with this name exists but cannot be parsed.
    pub fn unreadable_driver(&self, name: &str) -> Option<FilterError> {
        let key = ObjectKey::cluster(name);
        let problem = self.unreadable_drivers.get(&key)?.clone();
        Some(FilterError {
            resource: "csidrivers.storage.k8s.io",
            key,
            problem,
        })
    }

    /// The error of the first capacity object that cannot be parsed. Its class is unknown, so the error affects every PVC.
    pub fn unreadable_capacity(&self) -> Option<FilterError> {
        let (key, problem) = self.unreadable_capacities.first_key_value()?;
        Some(FilterError {
            resource: "csistoragecapacities.storage.k8s.io",
            key: key.clone(),
            problem: problem.clone(),
        })
    }
}

/// An object exists but cannot be read, so the attempt is aborted and retried (KEP-1472: only a missing CSIDriver disables the check).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource} \"{key}\" cannot be read: {problem}")]
pub struct FilterError {
    /// Resource and API group of the object.
    pub resource: &'static str,
    /// Key of the object that cannot be read.
    pub key: ObjectKey,
    /// The parse error.
    pub problem: String,
}
