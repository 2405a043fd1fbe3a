//! How the programs are set: publishers, cleaner, scheduler, and an extender that reserves.

use capacity_types::{DRIVER_LABEL, MANAGED_BY_LABEL};
use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use super::World;
use super::api::Release;
use super::capacity::CapacityObject;
use super::metadata::{NamespacedName, Owner};

/// The value of the managed-by label in central mode, and its beginning in distributed mode.
const MANAGED_BY: &str = "external-provisioner";

/// The longest value of a label, in characters.
const LABEL_MAX: usize = 63;

/// Which publisher: each instance is told apart by its driver and its node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance {
    /// The name of the driver.
    pub driver: String,
    /// The node that it publishes for; none: it publishes for all.
    pub node: Option<String>,
}

/// A publisher that runs. Several replicas with an election are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// The namespace of its objects, which is its own.
    pub namespace: String,
    /// For which segments it publishes.
    pub deployment: Deployment,
    /// Whether it publishes at all.
    pub publishes: bool,
    /// Whether it publishes for classes with immediate binding, too.
    pub immediate: bool,
    /// Whether it is told the name of that namespace.
    pub is_told_its_namespace: bool,
    /// Whether it asks the driver from time to time. If not, it hears of changes of the backend by chance only.
    pub polls: bool,
    /// Whether volumes that wait for a pod are made in the segment of its node and nowhere else.
    pub strict_topology: bool,
    /// Whether an object goes while the driver does not tell its figure. If not, the publisher does not delete it for that; whether one that
    /// is not there is made is left open.
    pub withdraws: bool,
    /// Whether it publishes zero as an object, where the documents leave the choice.
    pub zero: bool,
    /// The owner of its objects; none: they have none.
    pub owner: Option<Owner>,
    /// How far up from its pod it looks for that owner; none: it does not.
    pub owner_level: Option<u8>,
    /// GetCapacity calls in a second, at most, and as many at once; none: as many as it likes.
    pub asks_per_second: Option<u32>,
    /// Whether it is one of several replicas, of which one writes.
    pub is_elected: bool,
    /// Whether the owner tells which objects are its own, as in external-provisioner 2.0.0, and not the labels.
    pub by_owner: bool,
    /// Its managed-by label where the documents do not say which ([`Publisher::managed_by`]), as it was seen.
    pub label: Option<String>,
}

/// For which segments a publisher publishes (KEP-1472, "with" and "without central controller").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Deployment {
    /// For those of all nodes.
    #[default]
    Central,
    /// For this segment, which the plugin on its node reports.
    Distributed(Segment),
    /// For the segment that CSINode and Node have for its node at the moment; KEP-1472 does not say where an instance reads it.
    OfNode,
}

impl Default for Publisher {
    fn default() -> Self {
        Publisher {
            namespace: String::new(),
            deployment: Deployment::Central,
            publishes: true,
            immediate: false,
            is_told_its_namespace: true,
            polls: true,
            strict_topology: false,
            withdraws: false,
            zero: false,
            owner: None,
            owner_level: None,
            asks_per_second: None,
            is_elected: false,
            by_owner: false,
            label: None,
        }
    }
}

impl Publisher {
    /// The value of the managed-by label of its objects; none: the node's name is too long for the documents to say, and it was not
    /// seen either.
    pub fn managed_by(&self, instance: &Instance) -> Option<String> {
        let value = match &instance.node {
            None => MANAGED_BY.to_owned(),
            Some(node) => format!("{MANAGED_BY}-{node}"),
        };
        if value.len() > LABEL_MAX {
            return self.label.clone();
        }
        Some(value)
    }

    /// The segment that it is for; none: it is for all, or for none at the moment.
    pub(crate) fn own_segment(&self, world: &World, instance: &Instance) -> Option<Segment> {
        match &self.deployment {
            Deployment::Central => None,
            Deployment::Distributed(own) => Some(own.clone()),
            Deployment::OfNode => world.segment(&instance.driver, instance.node.as_deref()?),
        }
    }

    /// Whether it makes volumes and publishes for a segment.
    pub fn is_for(&self, world: &World, instance: &Instance, segment: &Segment) -> bool {
        let own = self.own_segment(world, instance);
        self.deployment == Deployment::Central || own.as_ref() == Some(segment)
    }

    /// Whether an object is its own.
    pub fn owns(&self, instance: &Instance, key: &NamespacedName, object: &CapacityObject) -> bool {
        if key.namespace != self.namespace {
            return false;
        }
        if self.by_owner {
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

/// A cleaner that runs: it removes what publishers of nodes without the driver left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaner {
    /// The name of the driver.
    pub driver: String,
    /// The namespace that it looks into.
    pub namespace: String,
    /// Nodes that miss the driver for less than the chosen time: their objects may be there or not.
    pub waiting: BTreeSet<String>,
    /// Managed-by labels of which the documents do not say how they tell their node ([`Publisher::managed_by`]), as they were seen, each
    /// with that node.
    pub labels: BTreeMap<String, String>,
}

impl Cleaner {
    /// The node whose publisher manages an object that this cleaner looks after.
    pub fn node_of<'o>(&'o self, key: &NamespacedName, object: &'o CapacityObject) -> Option<&'o str> {
        let is_of_driver = object.labels.get(DRIVER_LABEL) == Some(&self.driver);
        let managed_by = object.labels.get(MANAGED_BY_LABEL)?;
        let node = match self.labels.get(managed_by) {
            Some(node) => node,
            None => managed_by.strip_prefix(MANAGED_BY)?.strip_prefix('-')?,
        };
        (is_of_driver && key.namespace == self.namespace).then_some(node)
    }

    /// Whether an object, or another one with the same label, may be of a node that runs the driver and whose name is too long for the
    /// label: the documents do not say how the label is shortened, and a cleaner does not see who writes it.
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

/// How the scheduler is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduler {
    /// Its release.
    pub release: Release,
    /// Its gate CSIStorageCapacity; none: as the release has it by itself.
    pub capacity: Option<bool>,
    /// Its gate StorageCapacityScoring (KEP-4049); none: as the release has it by itself, which is off up to 1.36 and on from then.
    pub scoring: Option<bool>,
    /// Its gate VolumeCapacityPriority (KEP-1845), of 1.21 to 1.32; none: off.
    pub priority: Option<bool>,
    /// `VolumeBindingArgs.shape`; none: it is not told one. Without points it is the default of its gate.
    pub shape: Option<Vec<ShapePoint>>,
    /// Whether the capacity of a class is added up for each of its claims, as the text of KEP-4049 has it, instead of counted once.
    pub kep_text: bool,
}

/// A point of `VolumeBindingArgs.shape`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePoint {
    /// What is requested, in percent of the capacity: 0 to 100.
    pub utilization: i64,
    /// The score there: 0 to 10.
    pub score: i64,
}

/// What a scheduler scores nodes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scoring {
    /// Nothing that has to do with capacity.
    Off,
    /// Existing volumes alone (KEP-1845).
    Volumes,
    /// Existing volumes, and where a node has none of them, capacity (KEP-4049).
    Capacity,
}

impl Scheduler {
    /// Whether it looks at capacity objects.
    pub fn checks_capacity(&self) -> bool {
        self.release.tracks(self.capacity)
    }

    /// What it scores by.
    pub fn scores(&self) -> Scoring {
        let minor = self.release.minor;
        if minor >= 33 && self.scoring.unwrap_or(minor >= 37) {
            Scoring::Capacity
        } else if (21..33).contains(&minor) && self.priority == Some(true) {
            Scoring::Volumes
        } else {
            Scoring::Off
        }
    }
}

/// A scheduler extender (`KubeSchedulerConfiguration.extenders`): it takes nodes out, and scores the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extender {
    /// What it is called.
    pub name: String,
    /// Whether only pods that request an extended resource concern it, which no pod here does.
    pub is_unconcerned: bool,
    /// Nodes that it takes out.
    pub refuses: BTreeSet<String>,
    /// Its scores by node, 0 to 10.
    pub prefers: BTreeMap<String, i64>,
    /// Multiplies its scores.
    pub weight: i64,
    /// Whether it answers nothing but errors.
    pub fails: bool,
    /// Whether the scheduler may go on without it.
    pub is_ignorable: bool,
}

impl Extender {
    /// What it adds to the score of a node, which is 0 to 100 otherwise.
    pub(crate) fn points(&self, node: &str) -> i64 {
        let own = self
            .prefers
            .get(node)
            .filter(|_| !self.fails && !self.is_unconcerned);
        own.map_or(0, |score| score * self.weight * 10)
    }
}

/// What an extender holds that reserves devices before volumes are made (bare-metal proposal, capacity reservations).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reservations {
    /// The driver that it reserves for.
    pub driver: String,
    /// Nodes on which devices are held for the volumes of a pod.
    pub held: BTreeMap<NamespacedName, BTreeSet<String>>,
}
