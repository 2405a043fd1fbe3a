//! Settings of the programs: publishers, cleaner, scheduler, and extenders.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use capacity_types::{DRIVER_LABEL, MANAGED_BY_LABEL, Segment};

use super::World;
use super::api::Release;
use super::capacity::CapacityObject;
use super::metadata::{NamespacedName, Owner};

/// Value of the managed-by label in central mode, and its prefix in distributed mode.
const MANAGED_BY: &str = "external-provisioner";

/// Maximum length of a label value in characters.
const LABEL_MAX: usize = 63;

/// Identifies a publisher by driver and node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance {
    /// Name of the driver.
    pub driver: String,
    /// Node of a distributed publisher. `None`: a central publisher for all nodes.
    pub node: Option<String>,
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the publisher of driver {}", self.driver)?;
        self.node.iter().try_for_each(|node| write!(f, " on node {node}"))
    }
}

/// A running publisher. Several replicas with leader election count as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// Namespace of the publisher and its objects.
    pub namespace: String,
    /// For which segments the publisher creates objects.
    pub deployment: Deployment,
    /// Whether publishing is enabled.
    pub publishes: bool,
    /// Whether the publisher also creates objects for classes with Immediate binding.
    pub immediate: bool,
    /// Whether the namespace of the publisher is configured.
    pub has_namespace: bool,
    /// Whether the publisher polls GetCapacity. If not, a change of the storage alone causes no update of objects.
    pub polls: bool,
    /// Whether volumes with delayed binding must be created in the segment of the selected node.
    pub strict_topology: bool,
    /// Whether the publisher deletes an object while GetCapacity fails. If not, it must retain the object; it may or may not create a
    /// missing object.
    pub deletes_unknown_capacity: bool,
    /// Whether the publisher creates objects for zero capacity. The KEP allows it to create or omit such objects.
    pub zero_capacity_objects: bool,
    /// The owner that published objects must have. `None`: no owner.
    pub owner: Option<Owner>,
    /// The level of the owner above the pod (`--capacity-ownerref-level`). `None`: the publisher reads no owners.
    pub owner_level: Option<u8>,
    /// Rate limit of GetCapacity calls per second, which is also the burst. `None`: unlimited.
    pub get_capacity_qps: Option<u32>,
    /// Whether the publisher is one of several replicas with leader election.
    pub uses_leader_election: bool,
    /// Whether the publisher recognizes its objects by owner, as external-provisioner 2.0.0 does, instead of by labels.
    pub identifies_by_owner: bool,
    /// The managed-by label in the publisher's first write, if the KEP does not define the label ([`Publisher::managed_by`]).
    pub observed_label: Option<String>,
}

/// For which segments a publisher creates objects (KEP-1472, "With central controller" and "Without central controller").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Deployment {
    /// The publisher creates objects for the segments of all nodes.
    #[default]
    Central,
    /// The publisher creates objects for this segment, which NodeGetInfo returns on the publisher's node.
    Distributed(Segment),
    /// For the current segment of its node according to CSINode and Node. KEP-1472 does not define from where a distributed publisher reads
    /// its segment.
    OfNode,
}

impl Default for Publisher {
    fn default() -> Self {
        Publisher {
            namespace: String::new(),
            deployment: Deployment::Central,
            publishes: true,
            immediate: false,
            has_namespace: true,
            polls: true,
            strict_topology: false,
            deletes_unknown_capacity: false,
            zero_capacity_objects: false,
            owner: None,
            owner_level: None,
            get_capacity_qps: None,
            uses_leader_election: false,
            identifies_by_owner: false,
            observed_label: None,
        }
    }
}

impl Publisher {
    /// The managed-by label of the publisher's objects. `None`: the node name is too long for the label, so that the KEP does not define
    /// the value, and no write has been observed.
    pub fn managed_by(&self, instance: &Instance) -> Option<String> {
        let value = match &instance.node {
            None => MANAGED_BY.to_owned(),
            Some(node) => format!("{MANAGED_BY}-{node}"),
        };
        if value.len() > LABEL_MAX {
            return self.observed_label.clone();
        }
        Some(value)
    }

    /// The segment of a distributed publisher. `None`: the publisher is central, or its node has no segment now.
    pub(crate) fn own_segment(&self, world: &World, instance: &Instance) -> Option<Segment> {
        match &self.deployment {
            Deployment::Central => None,
            Deployment::Distributed(own) => Some(own.clone()),
            Deployment::OfNode => world.segment(&instance.driver, instance.node.as_deref()?),
        }
    }

    /// Whether the publisher provisions volumes and creates objects for a segment.
    pub fn is_for(&self, world: &World, instance: &Instance, segment: &Segment) -> bool {
        let own = self.own_segment(world, instance);
        self.deployment == Deployment::Central || own.as_ref() == Some(segment)
    }

    /// Whether an object belongs to the publisher.
    pub fn owns(&self, instance: &Instance, key: &NamespacedName, object: &CapacityObject) -> bool {
        if key.namespace != self.namespace {
            return false;
        }
        if self.identifies_by_owner {
            let is_owner = |owner: &Owner| Some(&owner.uid) == self.owner.as_ref().map(|it| &it.uid);
            return object.owners.iter().any(is_owner);
        }
        object.labels.get(DRIVER_LABEL) == Some(&instance.driver)
            && object
                .labels
                .get(MANAGED_BY_LABEL)
                .is_some_and(|label| Some(label) == self.managed_by(instance).as_ref())
    }
}

/// A running cleaner, which deletes the objects of publishers on nodes without the driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaner {
    /// Name of the driver.
    pub driver: String,
    /// Namespace of the objects that the cleaner deletes.
    pub namespace: String,
    /// Nodes that have been without the driver for less than the configured time. Their objects may be deleted or retained.
    pub waiting: BTreeSet<String>,
    /// Nodes whose name is too long for a managed-by label defined by the KEP, by the label in their publisher's first write.
    pub labels: BTreeMap<String, String>,
}

impl Cleaner {
    /// The node whose publisher manages an object. `None` if the object belongs to another driver or namespace.
    pub fn node_of<'o>(&'o self, key: &NamespacedName, object: &'o CapacityObject) -> Option<&'o str> {
        let is_of_driver = object.labels.get(DRIVER_LABEL) == Some(&self.driver);
        let managed_by = object.labels.get(MANAGED_BY_LABEL)?;
        let node = match self.labels.get(managed_by) {
            Some(node) => node,
            None => managed_by.strip_prefix(MANAGED_BY)?.strip_prefix('-')?,
        };
        (is_of_driver && key.namespace == self.namespace).then_some(node)
    }

    /// Whether an object may belong to a publisher on a node that runs the driver and whose name is too long for the managed-by label. The
    /// KEP does not define how the name is shortened, and a cleaner does not know which client wrote an object. Therefore the topologies of
    /// all objects with the same label are compared with such nodes.
    pub(crate) fn may_be_of_long_node(&self, world: &World, object: &CapacityObject) -> bool {
        let is_long = |node: &str| MANAGED_BY.len() + 1 + node.len() > LABEL_MAX;
        let with_driver = world
            .csi_nodes
            .iter()
            .filter(|(node, csi_node)| is_long(node) && csi_node.drivers.contains_key(&self.driver));
        let mut long = with_driver.filter_map(|(node, _)| world.nodes.get(node));
        let label = object.labels.get(MANAGED_BY_LABEL);
        long.any(|node| {
            let mut alike = world
                .objects
                .values()
                .filter(|it| it.labels.get(MANAGED_BY_LABEL) == label);
            alike.any(|it| it.topology.admits(&node.labels))
        })
    }
}

/// The settings of the scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduler {
    /// The release of kube-scheduler.
    pub release: Release,
    /// Feature gate CSIStorageCapacity. `None`: the default of the release.
    pub capacity_gate: Option<bool>,
    /// Feature gate StorageCapacityScoring (KEP-4049). `None`: the default of the release, which is off up to 1.36 and on in later
    /// releases.
    pub scoring: Option<bool>,
    /// Feature gate VolumeCapacityPriority (KEP-1845), 1.21 to 1.32. `None`: off.
    pub volume_capacity_priority: Option<bool>,
    /// `VolumeBindingArgs.shape`. `None`: not configured. Empty: the default of the enabled scoring gate.
    pub shape: Option<Vec<ShapePoint>>,
    /// Whether scoring adds the capacity of a class once for each of its PVCs, as the text of KEP-4049 specifies, instead of counting it
    /// once.
    pub kep_text: bool,
}

/// A point of `VolumeBindingArgs.shape`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePoint {
    /// Requested size divided by capacity, in percent from 0 to 100.
    pub utilization: i64,
    /// The score at this utilization, from 0 to 10.
    pub score: i64,
}

/// What a scheduler scores: nothing, only existing volumes, or existing volumes and capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scoring {
    /// No storage: scoring is off.
    Off,
    /// Only existing volumes (KEP-1845).
    Volumes,
    /// Existing volumes, or the capacity on a node on which the pod would use no existing volume (KEP-4049).
    Capacity,
}

impl Scheduler {
    /// Whether the scheduler checks CSIStorageCapacity objects.
    pub fn checks_capacity(&self) -> bool {
        self.release.is_capacity_gate_on(self.capacity_gate)
    }

    /// What the scheduler scores according to its feature gates.
    pub fn scoring_mode(&self) -> Scoring {
        let minor = self.release.minor;
        if minor >= 33 && self.scoring.unwrap_or(minor >= 37) {
            Scoring::Capacity
        } else if (21..33).contains(&minor) && self.volume_capacity_priority == Some(true) {
            Scoring::Volumes
        } else {
            Scoring::Off
        }
    }
}

/// A scheduler extender (`KubeSchedulerConfiguration.extenders`), which filters nodes and scores the remaining ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extender {
    /// Name of the extender in reports.
    pub name: String,
    /// Whether `managedResources` is set. If so, the scheduler never calls the extender, because no pod of a case requests a managed
    /// resource.
    pub has_managed_resources: bool,
    /// Nodes that the extender filters out.
    pub rejects: BTreeSet<String>,
    /// Scores from 0 to 10, by node.
    pub scores: BTreeMap<String, i64>,
    /// `weight`: factor for the scores.
    pub weight: i64,
    /// Whether the extender responds to every call with an error.
    pub fails: bool,
    /// `ignorable`: whether the scheduler continues if the extender fails.
    pub is_ignorable: bool,
}

impl Extender {
    /// The points that the extender adds to the score of a node. Without extenders, scores are from 0 to 100.
    pub(crate) fn extender_points(&self, node: &str) -> i64 {
        let own = self
            .scores
            .get(node)
            .filter(|_| !self.fails && !self.has_managed_resources);
        own.map_or(0, |score| score * self.weight * 10)
    }
}

/// The reservations of an extender that reserves devices before volumes are created (bare-metal proposal, capacity reservations).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reservations {
    /// The driver whose devices are reserved.
    pub driver: String,
    /// Nodes on which devices are reserved for the volumes of a pod.
    pub nodes: BTreeMap<NamespacedName, BTreeSet<String>>,
}
