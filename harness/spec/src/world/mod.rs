//! A cluster at one moment: what the API server holds, what the driver would answer, and how the programs are set.
//!
//! Data only. What follows from it is in [`crate::objects`] and [`crate::placement`]; how it changes is in [`change`]. Each kind of the
//! API can be read from the text that the API server sends; fields that no rule speaks of are not kept.

pub mod answer;
pub mod api;
pub mod capacity;
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

pub use self::answer::{Answer, Driver, Figures, Parameters};
pub use self::api::{Api, Release};
pub use self::capacity::CapacityObject;
pub use self::change::Change;
pub use self::claim::Claim;
pub use self::class::{Binding, StorageClass};
pub use self::csi::{CsiDriver, CsiNode, Registration};
pub use self::metadata::{NamespacedName, Owner};
pub use self::node::{Effect, Node, Taint};
pub use self::pod::{Pod, PodVolume, Toleration};
pub use self::programs::{
    Cleaner, Deployment, Extender, Instance, Publisher, Reservations, Scheduler, Scoring, ShapePoint,
};
pub use self::volume::{ClaimRef, Volume};

/// Objects of a namespaced kind.
pub type Namespaced<T> = BTreeMap<NamespacedName, T>;

/// CSIStorageCapacity objects.
pub type Objects = Namespaced<CapacityObject>;

/// A cluster at one moment.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Release and gates of the API server.
    pub api: Api,
    /// Nodes by name.
    pub nodes: BTreeMap<String, Node>,
    /// CSINodes by name, which is that of the node.
    pub csi_nodes: BTreeMap<String, CsiNode>,
    /// CSIDriver objects by name.
    pub csi_drivers: BTreeMap<String, CsiDriver>,
    /// Storage classes by name.
    pub classes: BTreeMap<String, StorageClass>,
    /// CSIStorageCapacity objects.
    pub objects: Objects,
    /// PersistentVolumeClaims.
    pub claims: Namespaced<Claim>,
    /// PersistentVolumes by name.
    pub volumes: BTreeMap<String, Volume>,
    /// Pods.
    pub pods: Namespaced<Pod>,
    /// uids of objects that are gone and may have owned others.
    pub gone_owners: BTreeSet<String>,
    /// What the plugins behind the drivers answer, by the name of the driver.
    pub drivers: BTreeMap<String, Driver>,
    /// The publishers that run.
    pub publishers: BTreeMap<Instance, Publisher>,
    /// The cleaner that runs, if one does.
    pub cleaner: Option<Cleaner>,
    /// How the scheduler is set.
    pub scheduler: Scheduler,
    /// The extenders that the scheduler calls, in this order.
    pub extenders: Vec<Extender>,
    /// What an extender that reserves devices holds, where there is one.
    pub reservations: Option<Reservations>,
}

impl World {
    /// The same, as a server shows it that does not know `CSIDriver.spec.storageCapacity`.
    pub fn without_flags(&self) -> World {
        let mut world = self.clone();
        for driver in world.csi_drivers.values_mut() {
            driver.storage_capacity = false;
        }
        world
    }

    /// The same, as a server shows it that does not know `CSIStorageCapacity.maximumVolumeSize`.
    pub fn without_maxima(&self) -> World {
        let mut world = self.clone();
        for object in world.objects.values_mut() {
            object.maximum = None;
        }
        world
    }

    /// How a driver is registered on a node, if it is.
    pub fn registration(&self, driver: &str, node: &str) -> Option<&Registration> {
        self.csi_nodes.get(node)?.drivers.get(driver)
    }

    /// The segment in which a node is for a driver: the node's values of the driver's keys. None where the driver is not registered, or the
    /// node lacks one of them.
    pub fn segment(&self, driver: &str, node: &str) -> Option<Segment> {
        let registration = self.registration(driver, node)?;
        registration.segment(&self.nodes.get(node)?.labels)
    }
}
