//! The state of a cluster at one moment: API objects, responses of drivers, and settings of programs.
//!
//! Data only. Does not know the rules ([`crate::objects`], [`crate::placement`]); changes are in [`change`]. API objects are parsed from
//! JSON; fields that no rule uses are dropped.

pub mod api;
pub mod capacity;
pub mod capacity_response;
pub mod change;
pub mod claim;
pub mod class;
pub mod csi;
mod metadata;
pub mod node;
pub mod pod;
pub mod programs;
mod selection;
pub mod volume;

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

pub use self::api::{Api, Release};
pub use self::capacity::CapacityObject;
pub use self::capacity_response::{CapacityResponse, Driver, Parameters, ReportedCapacity};
pub use self::change::Change;
pub use self::claim::Claim;
pub use self::class::{StorageClass, VolumeBindingMode};
pub use self::csi::{CsiDriver, CsiNode, Registration};
pub use self::metadata::{NamespacedName, Owner};
pub use self::node::{Effect, Node, Taint};
pub use self::pod::{Pod, PodVolume, Toleration};
pub use self::programs::{
    Cleaner, Deployment, Extender, Instance, Publisher, Reservations, Scheduler, Scoring, ShapePoint,
};
pub use self::volume::{ClaimRef, Volume};

/// Objects of a namespaced kind, by namespace and name.
pub type Namespaced<T> = BTreeMap<NamespacedName, T>;

/// CSIStorageCapacity objects by namespace and name.
pub type Objects = Namespaced<CapacityObject>;

/// The state of a cluster at one moment.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Release and feature gate of the API server.
    pub api: Api,
    /// Nodes by name.
    pub nodes: BTreeMap<String, Node>,
    /// CSINodes by name, which is also the name of the node.
    pub csi_nodes: BTreeMap<String, CsiNode>,
    /// CSIDriver objects by name.
    pub csi_drivers: BTreeMap<String, CsiDriver>,
    /// StorageClasses by name.
    pub classes: BTreeMap<String, StorageClass>,
    /// CSIStorageCapacity objects.
    pub objects: Objects,
    /// PersistentVolumeClaims.
    pub claims: Namespaced<Claim>,
    /// PersistentVolumes by name.
    pub volumes: BTreeMap<String, Volume>,
    /// Pods.
    pub pods: Namespaced<Pod>,
    /// UIDs of deleted objects to which existing objects may refer as owners.
    pub deleted_owners: BTreeSet<String>,
    /// CSI drivers and their responses, by driver name.
    pub drivers: BTreeMap<String, Driver>,
    /// The running publishers and their settings.
    pub publishers: BTreeMap<Instance, Publisher>,
    /// The running cleaner, if any.
    pub cleaner: Option<Cleaner>,
    /// The settings of the scheduler.
    pub scheduler: Scheduler,
    /// The scheduler's extenders, in the order in which it calls them.
    pub extenders: Vec<Extender>,
    /// Devices that an extender has reserved; `None` if no extender reserves devices.
    pub reservations: Option<Reservations>,
}

impl World {
    /// The state that an API server without the field `CSIDriver.spec.storageCapacity` returns.
    pub fn without_storage_capacity(&self) -> World {
        let mut world = self.clone();
        for driver in world.csi_drivers.values_mut() {
            driver.storage_capacity = false;
        }
        world
    }

    /// The state that an API server without the field `CSIStorageCapacity.maximumVolumeSize` returns.
    pub fn without_maxima(&self) -> World {
        let mut world = self.clone();
        for object in world.objects.values_mut() {
            object.maximum = None;
        }
        world
    }

    /// The registration of a driver on a node, if any.
    pub fn registration(&self, driver: &str, node: &str) -> Option<&Registration> {
        self.csi_nodes.get(node)?.drivers.get(driver)
    }

    /// The segment of a node for a driver: the node's labels for the driver's topology keys. `None` if the driver is not registered on the
    /// node, or a label is missing.
    pub fn segment(&self, driver: &str, node: &str) -> Option<Segment> {
        let registration = self.registration(driver, node)?;
        registration.segment(&self.nodes.get(node)?.labels)
    }
}
