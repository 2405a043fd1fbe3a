//! The cluster as one scheduling attempt sees it.
//!
//! Holds objects and decisions in flight; decides nothing and knows no watch.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::attachments::Attachments;
use crate::capacity_index::CapacityIndex;
use crate::filter_error::FilterError;
use crate::node_pods::NodePods;
use crate::objects::{
    Claim, Class, CsiNode, DisruptionBudget, Driver, Lease, Namespace, Node, ObjectKey, Volume,
};
use crate::store::Store;
use crate::volume_index::VolumeIndex;

/// Everything that a placement decision depends on besides the pod itself.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The nodes.
    pub nodes: Store<Node>,
    /// The claims of all namespaces.
    pub claims: Store<Claim>,
    /// The volumes.
    pub volumes: VolumeIndex,
    /// The storage classes.
    pub classes: Store<Class>,
    /// The CSI drivers.
    pub drivers: Store<Driver>,
    /// The capacity objects of all namespaces.
    pub capacities: CapacityIndex,
    /// The CSINodes.
    pub csi_nodes: Store<CsiNode>,
    /// The volume attachments.
    pub attachments: Attachments,
    /// The namespaces.
    pub namespaces: Store<Namespace>,
    /// The PodDisruptionBudgets. Only an inventory (a dump, or a cluster that `why` lists) has them: the scheduling loop watches none.
    pub budgets: Store<DisruptionBudget>,
    /// The Leases of controllers and nodes. Only an inventory has them.
    pub leases: Store<Lease>,
    /// The pods on the nodes.
    pub pods: NodePods,
    /// CSIDriver objects that exist and cannot be read, with what is wrong with them.
    pub unreadable_drivers: Unreadable,
    /// Capacity objects that exist and cannot be read.
    pub unreadable_capacities: Unreadable,
}

/// Objects of one kind that cannot be read, with what is wrong with each.
pub type Unreadable = BTreeMap<ObjectKey, String>;

impl Snapshot {
    /// The class of that name.
    pub fn class(&self, name: &str) -> Option<&Arc<Class>> {
        self.classes.get(&ObjectKey::cluster(name))
    }

    /// The volume of that name, with decisions in flight.
    pub fn volume(&self, name: &str) -> Option<&Arc<Volume>> {
        self.volumes.get(&ObjectKey::cluster(name))
    }

    /// The CSIDriver object of that name.
    pub fn driver(&self, name: &str) -> Option<&Arc<Driver>> {
        self.drivers.get(&ObjectKey::cluster(name))
    }

    /// Why the CSIDriver object of that name cannot be read, if there is one that cannot.
    pub fn unreadable_driver(&self, name: &str) -> Option<FilterError> {
        let key = ObjectKey::cluster(name);
        let problem = self.unreadable_drivers.get(&key)?.clone();
        Some(FilterError {
            resource: "csidrivers.storage.k8s.io",
            key,
            problem,
        })
    }

    /// The first capacity object that cannot be read. Its class is unknown, so it concerns every claim.
    pub fn unreadable_capacity(&self) -> Option<FilterError> {
        let (key, problem) = self.unreadable_capacities.first_key_value()?;
        Some(FilterError {
            resource: "csistoragecapacities.storage.k8s.io",
            key: key.clone(),
            problem: problem.clone(),
        })
    }
}
