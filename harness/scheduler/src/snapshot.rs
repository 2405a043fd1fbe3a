//! The cluster as one scheduling attempt sees it.
//!
//! Holds objects and decisions in flight; decides nothing and knows no watch.

use std::sync::Arc;

use crate::capacity_index::CapacityIndex;
use crate::objects::{Claim, Class, Driver, Node, ObjectKey, Volume};
use crate::store::Store;

/// Everything that a placement decision depends on besides the pod itself.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The nodes.
    pub nodes: Store<Node>,
    /// The claims of all namespaces.
    pub claims: Store<Claim>,
    /// The volumes.
    pub volumes: Store<Volume>,
    /// The storage classes.
    pub classes: Store<Class>,
    /// The CSI drivers.
    pub drivers: Store<Driver>,
    /// The capacity objects of all namespaces.
    pub capacities: CapacityIndex,
}

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
}
