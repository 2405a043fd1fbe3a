//! Changes of the cluster state.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;
use capacity_types::capacity_api::RESOURCE;
use serde::{Deserialize, Deserializer};

use super::World;
use super::api::Api;
use super::capacity::CapacityObject;
use super::capacity_response::{CapacityResponse, Driver, Parameters, ReportedCapacity};
use super::claim::{Claim, ClaimJson};
use super::class::{ClassJson, StorageClass};
use super::csi::{CsiDriver, CsiDriverJson, CsiNode, CsiNodeJson};
use super::metadata::NamespacedName;
use super::node::{Node, NodeJson};
use super::pod::{Pod, PodJson};
use super::programs::{Cleaner, Extender, Instance, Publisher, Reservations, Scheduler};
use super::volume::{Volume, VolumeJson};

/// A change of the cluster state. In variants with a name and an `Option`, `None` means that the object was deleted.
#[derive(Clone, Debug)]
pub enum Change {
    /// The release or feature gate of the API server changes.
    Api(Api),
    /// A Node was created, changed or deleted.
    Node(String, Option<Node>),
    /// A CSINode was created, changed or deleted.
    CsiNode(String, Option<CsiNode>),
    /// A CSIDriver object was created, changed or deleted.
    CsiDriver(String, Option<CsiDriver>),
    /// A StorageClass was created, changed or deleted.
    Class(String, Option<StorageClass>),
    /// A CSIStorageCapacity object was created, changed or deleted.
    Object(NamespacedName, Option<CapacityObject>),
    /// A PersistentVolumeClaim was created, changed or deleted.
    Claim(NamespacedName, Option<Claim>),
    /// A PersistentVolume was created, changed or deleted.
    Volume(String, Option<Volume>),
    /// A Pod was created, changed or deleted.
    Pod(NamespacedName, Option<Pod>),
    /// The object with this UID was deleted. Existing objects may refer to it in `ownerReferences`.
    OwnerDeleted(String),
    /// A driver starts, changes or stops.
    Driver(String, Option<Driver>),
    /// The driver's response to GetCapacity calls with this segment and these parameters changes.
    CapacityResponse(String, Segment, Parameters, CapacityResponse),
    /// A publisher starts, is reconfigured, or stops.
    Publisher(Instance, Option<Publisher>),
    /// A cleaner starts, is reconfigured, or stops.
    Cleaner(Option<Cleaner>),
    /// The settings of the scheduler change.
    Scheduler(Scheduler),
    /// The extenders that the scheduler calls change.
    Extenders(Vec<Extender>),
    /// The devices that an extender has reserved change.
    Reservations(Option<Reservations>),
}

/// The kind of a change. Programs watch each kind separately, so a change of one kind may be received before an earlier change of another
/// kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Nodes.
    Nodes,
    /// CSINodes.
    CsiNodes,
    /// CSIDriver objects.
    CsiDrivers,
    /// StorageClasses.
    Classes,
    /// CSIStorageCapacity objects.
    Objects,
    /// PersistentVolumeClaims.
    Claims,
    /// PersistentVolumes.
    Volumes,
    /// Pods.
    Pods,
    /// GetCapacity responses of drivers.
    CapacityResponses,
    /// Settings of the programs and of the API server.
    Settings,
}

impl Change {
    /// The kind of the changed objects, responses or settings.
    pub fn kind(&self) -> ChangeKind {
        match self {
            Change::Node(..) => ChangeKind::Nodes,
            Change::CsiNode(..) => ChangeKind::CsiNodes,
            Change::CsiDriver(..) => ChangeKind::CsiDrivers,
            Change::Class(..) => ChangeKind::Classes,
            Change::Object(..) | Change::OwnerDeleted(_) => ChangeKind::Objects,
            Change::Claim(..) => ChangeKind::Claims,
            Change::Volume(..) => ChangeKind::Volumes,
            Change::Pod(..) => ChangeKind::Pods,
            Change::Driver(..) | Change::CapacityResponse(..) => ChangeKind::CapacityResponses,
            Change::Api(_)
            | Change::Publisher(..)
            | Change::Cleaner(_)
            | Change::Scheduler(_)
            | Change::Extenders(_)
            | Change::Reservations(_) => ChangeKind::Settings,
        }
    }

    /// The creation or change of an API object. `None`: no rule uses this resource. Returns an error if the object is invalid.
    pub fn of_object<'de, D: Deserializer<'de>>(resource: &str, object: D) -> Result<Option<Self>, D::Error> {
        Ok(Some(match resource {
            "nodes" => {
                let (name, it) = NodeJson::deserialize(object)?.into();
                Change::Node(name, Some(it))
            }
            "csinodes" => {
                let (name, it) = CsiNodeJson::deserialize(object)?.into();
                Change::CsiNode(name, Some(it))
            }
            "csidrivers" => {
                let (name, it) = CsiDriverJson::deserialize(object)?.into();
                Change::CsiDriver(name, Some(it))
            }
            "storageclasses" => {
                let (name, it) = ClassJson::deserialize(object)?.into();
                Change::Class(name, Some(it))
            }
            RESOURCE => {
                let (key, it) = CapacityObject::read(object)?;
                Change::Object(key, Some(it))
            }
            "persistentvolumeclaims" => {
                let (key, it) = ClaimJson::deserialize(object)?.into();
                Change::Claim(key, Some(it))
            }
            "persistentvolumes" => {
                let (name, it) = VolumeJson::deserialize(object)?.into();
                Change::Volume(name, Some(it))
            }
            "pods" => {
                let (key, it) = PodJson::deserialize(object)?.into();
                Change::Pod(key, Some(it))
            }
            _ => return Ok(None),
        }))
    }

    /// The deletion of an API object. `namespace` is empty for a cluster-scoped object. `None`: no rule uses this resource.
    pub fn of_deletion(resource: &str, namespace: &str, name: &str) -> Option<Self> {
        let key = || NamespacedName::new(namespace, name);
        let name = || name.to_owned();
        Some(match resource {
            "nodes" => Change::Node(name(), None),
            "csinodes" => Change::CsiNode(name(), None),
            "csidrivers" => Change::CsiDriver(name(), None),
            "storageclasses" => Change::Class(name(), None),
            RESOURCE => Change::Object(key(), None),
            "persistentvolumeclaims" => Change::Claim(key(), None),
            "persistentvolumes" => Change::Volume(name(), None),
            "pods" => Change::Pod(key(), None),
            _ => return None,
        })
    }
}

impl World {
    /// Applies a change to the state.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Api(it) => self.api = it,
            Change::Node(name, it) => insert_or_remove(&mut self.nodes, name, it),
            Change::CsiNode(name, it) => insert_or_remove(&mut self.csi_nodes, name, it),
            Change::CsiDriver(name, it) => insert_or_remove(&mut self.csi_drivers, name, it),
            Change::Class(name, it) => insert_or_remove(&mut self.classes, name, it),
            Change::Object(key, it) => insert_or_remove(&mut self.objects, key, it),
            Change::Claim(key, it) => insert_or_remove(&mut self.claims, key, it),
            Change::Volume(name, it) => insert_or_remove(&mut self.volumes, name, it),
            Change::Pod(key, it) => insert_or_remove(&mut self.pods, key, it),
            Change::OwnerDeleted(uid) => drop(self.deleted_owners.insert(uid)),
            Change::Driver(name, it) => insert_or_remove(&mut self.drivers, name, it),
            Change::CapacityResponse(driver, segment, parameters, response) => {
                let driver = self.drivers.entry(driver).or_default();
                let before = driver.response(&segment, &parameters);
                let response = response.with_earlier_values(before);
                let responses = driver.responses.entry(parameters).or_default();
                responses.insert(segment, response);
            }
            Change::Publisher(instance, it) => insert_or_remove(&mut self.publishers, instance, it),
            Change::Cleaner(it) => self.cleaner = it,
            Change::Scheduler(it) => self.scheduler = it,
            Change::Extenders(it) => self.extenders = it,
            Change::Reservations(it) => self.reservations = it,
        }
    }
}

impl World {
    pub(crate) fn copy_kind(&mut self, kind: ChangeKind, from: &World) {
        match kind {
            ChangeKind::Nodes => self.nodes.clone_from(&from.nodes),
            ChangeKind::CsiNodes => self.csi_nodes.clone_from(&from.csi_nodes),
            ChangeKind::CsiDrivers => self.csi_drivers.clone_from(&from.csi_drivers),
            ChangeKind::Classes => self.classes.clone_from(&from.classes),
            ChangeKind::Objects => {
                self.objects.clone_from(&from.objects);
                self.deleted_owners.clone_from(&from.deleted_owners);
            }
            ChangeKind::Claims => self.claims.clone_from(&from.claims),
            ChangeKind::Volumes => self.volumes.clone_from(&from.volumes),
            ChangeKind::Pods => self.pods.clone_from(&from.pods),
            ChangeKind::CapacityResponses => self.drivers.clone_from(&from.drivers),
            ChangeKind::Settings => {
                self.api = from.api;
                self.publishers.clone_from(&from.publishers);
                self.cleaner.clone_from(&from.cleaner);
                self.scheduler.clone_from(&from.scheduler);
                self.extenders.clone_from(&from.extenders);
                self.reservations.clone_from(&from.reservations);
            }
        }
    }
}

fn insert_or_remove<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}

impl CapacityResponse {
    /// This GetCapacity response, received after `earlier`. An error stores the values of the earlier responses.
    fn with_earlier_values(self, earlier: &CapacityResponse) -> Self {
        let CapacityResponse::Error { mut before } = self else {
            return self;
        };
        before.extend(earlier.possible_values());
        CapacityResponse::Error { before }
    }

    /// The values of all responses that a publisher may have received.
    fn possible_values(&self) -> BTreeSet<ReportedCapacity> {
        match self {
            CapacityResponse::Reported(values) => BTreeSet::from([*values]),
            CapacityResponse::Error { before } => before.clone(),
        }
    }
}
