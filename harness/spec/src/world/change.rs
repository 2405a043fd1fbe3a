//! How a world becomes another.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;
use capacity_types::capacity_api::RESOURCE;
use serde::{Deserialize, Deserializer};

use super::World;
use super::answer::{Answer, Driver, Figures, Parameters};
use super::api::Api;
use super::capacity::CapacityObject;
use super::claim::{Claim, ClaimJson};
use super::class::{ClassJson, StorageClass};
use super::csi::{CsiDriver, CsiDriverJson, CsiNode, CsiNodeJson};
use super::metadata::NamespacedName;
use super::node::{Node, NodeJson};
use super::pod::{Pod, PodJson};
use super::programs::{Cleaner, Extender, Instance, Publisher, Reservations, Scheduler};
use super::volume::{Volume, VolumeJson};

/// One change of a world. Where a change has a name and an option, none removes what has that name.
#[derive(Clone, Debug)]
pub enum Change {
    /// Release and gate of the API server.
    Api(Api),
    /// A Node.
    Node(String, Option<Node>),
    /// A CSINode.
    CsiNode(String, Option<CsiNode>),
    /// A CSIDriver object.
    CsiDriver(String, Option<CsiDriver>),
    /// A StorageClass.
    Class(String, Option<StorageClass>),
    /// A CSIStorageCapacity.
    Object(NamespacedName, Option<CapacityObject>),
    /// A PersistentVolumeClaim.
    Claim(NamespacedName, Option<Claim>),
    /// A PersistentVolume.
    Volume(String, Option<Volume>),
    /// A Pod.
    Pod(NamespacedName, Option<Pod>),
    /// An object with this uid, which may have owned others, is gone.
    OwnerGone(String),
    /// The plugin behind a driver.
    Driver(String, Option<Driver>),
    /// What the plugin behind a driver answers for a segment and parameters.
    Answer(String, Segment, Parameters, Answer),
    /// A publisher starts, is set otherwise, or stops.
    Publisher(Instance, Option<Publisher>),
    /// The cleaner.
    Cleaner(Option<Cleaner>),
    /// How the scheduler is set.
    Scheduler(Scheduler),
    /// The extenders that the scheduler calls.
    Extenders(Vec<Extender>),
    /// What an extender holds.
    Reservations(Option<Reservations>),
}

/// What a change is about. Programs watch kinds apart from each other: a change of one may reach them before an earlier one of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// Nodes.
    Nodes,
    /// CSINodes.
    CsiNodes,
    /// CSIDriver objects.
    CsiDrivers,
    /// Storage classes.
    Classes,
    /// Capacity objects.
    Objects,
    /// Claims.
    Claims,
    /// Volumes.
    Volumes,
    /// Pods.
    Pods,
    /// What the plugins answer.
    Answers,
    /// How the programs and the API server are set.
    Settings,
}

impl Change {
    /// What it is about.
    pub fn aspect(&self) -> Aspect {
        match self {
            Change::Node(..) => Aspect::Nodes,
            Change::CsiNode(..) => Aspect::CsiNodes,
            Change::CsiDriver(..) => Aspect::CsiDrivers,
            Change::Class(..) => Aspect::Classes,
            Change::Object(..) | Change::OwnerGone(_) => Aspect::Objects,
            Change::Claim(..) => Aspect::Claims,
            Change::Volume(..) => Aspect::Volumes,
            Change::Pod(..) => Aspect::Pods,
            Change::Driver(..) | Change::Answer(..) => Aspect::Answers,
            Change::Api(_)
            | Change::Publisher(..)
            | Change::Cleaner(_)
            | Change::Scheduler(_)
            | Change::Extenders(_)
            | Change::Reservations(_) => Aspect::Settings,
        }
    }

    /// That an object of a resource is now this one, as the API server sends it. None: no rule speaks of such objects. Errors when the
    /// object is not one of that resource.
    pub fn set<'de, D: Deserializer<'de>>(resource: &str, object: D) -> Result<Option<Self>, D::Error> {
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

    /// That an object of a resource is gone; `namespace` is empty for those without one. None: no rule speaks of such objects.
    pub fn removed(resource: &str, namespace: &str, name: &str) -> Option<Self> {
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
    /// Takes a change in.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Api(it) => self.api = it,
            Change::Node(name, it) => put(&mut self.nodes, name, it),
            Change::CsiNode(name, it) => put(&mut self.csi_nodes, name, it),
            Change::CsiDriver(name, it) => put(&mut self.csi_drivers, name, it),
            Change::Class(name, it) => put(&mut self.classes, name, it),
            Change::Object(key, it) => put(&mut self.objects, key, it),
            Change::Claim(key, it) => put(&mut self.claims, key, it),
            Change::Volume(name, it) => put(&mut self.volumes, name, it),
            Change::Pod(key, it) => put(&mut self.pods, key, it),
            Change::OwnerGone(uid) => drop(self.gone_owners.insert(uid)),
            Change::Driver(name, it) => put(&mut self.drivers, name, it),
            Change::Answer(driver, segment, parameters, answer) => {
                let driver = self.drivers.entry(driver).or_default();
                let before = driver.answer(&segment, &parameters);
                let answer = answer.after(before);
                let answers = driver.answers.entry(parameters).or_default();
                answers.insert(segment, answer);
            }
            Change::Publisher(instance, it) => put(&mut self.publishers, instance, it),
            Change::Cleaner(it) => self.cleaner = it,
            Change::Scheduler(it) => self.scheduler = it,
            Change::Extenders(it) => self.extenders = it,
            Change::Reservations(it) => self.reservations = it,
        }
    }
}

impl World {
    /// Makes one aspect what it is in another world.
    pub(crate) fn take_over(&mut self, aspect: Aspect, from: &World) {
        match aspect {
            Aspect::Nodes => self.nodes.clone_from(&from.nodes),
            Aspect::CsiNodes => self.csi_nodes.clone_from(&from.csi_nodes),
            Aspect::CsiDrivers => self.csi_drivers.clone_from(&from.csi_drivers),
            Aspect::Classes => self.classes.clone_from(&from.classes),
            Aspect::Objects => {
                self.objects.clone_from(&from.objects);
                self.gone_owners.clone_from(&from.gone_owners);
            }
            Aspect::Claims => self.claims.clone_from(&from.claims),
            Aspect::Volumes => self.volumes.clone_from(&from.volumes),
            Aspect::Pods => self.pods.clone_from(&from.pods),
            Aspect::Answers => self.drivers.clone_from(&from.drivers),
            Aspect::Settings => {
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

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}

impl Answer {
    /// The same after another: an error knows what was answered before.
    fn after(self, earlier: &Answer) -> Self {
        let Answer::Error { mut before } = self else {
            return self;
        };
        before.extend(earlier.heard());
        Answer::Error { before }
    }

    /// The figures that a publisher may have heard.
    fn heard(&self) -> BTreeSet<Figures> {
        match self {
            Answer::Figures(figures) => BTreeSet::from([*figures]),
            Answer::Error { before } => before.clone(),
        }
    }
}
