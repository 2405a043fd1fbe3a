//! A cluster and the true storage of its drivers, as input of all API designs.
//!
//! [`InputCluster::feasible_nodes`] computes from the true storage which nodes can hold a volume. The scheduling decisions of all designs
//! are compared with this result.

use std::collections::BTreeSet;

use capacity_types::Labels;

use super::selector::NodeSelector;

pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";

/// A cluster with the true storage of its drivers. The same cluster is the input for all designs.
#[derive(Clone, Debug, Default)]
pub(super) struct InputCluster {
    pub(super) nodes: Vec<Node>,
    pub(super) drivers: Vec<Driver>,
    pub(super) classes: Vec<Class>,
    pub(super) pools: Vec<Pool>,
    /// Current time of day, in seconds.
    pub(super) now: u32,
}

/// A node. One of its labels, `kubernetes.io/hostname`, is the node's name.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) labels: Labels,
}

/// A CSI driver, and whether its capacity is tracked.
#[derive(Clone, Debug)]
pub(super) struct Driver {
    pub(super) name: String,
    pub(super) tracks: Option<bool>,
}

#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) driver: String,
}

#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) name: String,
    pub(super) driver: String,
    pub(super) node_access: NodeAccess,
    pub(super) capacities: Vec<PoolCapacity>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum NodeAccess {
    Cluster,
    Nodes(BTreeSet<String>),
    Terms(NodeSelector),
}

/// The capacity of a pool for one kind of volume.
#[derive(Clone, Debug)]
pub(super) struct PoolCapacity {
    pub(super) of: VolumeKind,
    /// Maximum volume size, in bytes.
    pub(super) bytes: u64,
    /// Total free capacity in bytes, if the driver reports it in addition to the maximum volume size.
    pub(super) total: Option<u64>,
    /// Time of day, in seconds, at which the capacity expires.
    pub(super) until: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum VolumeKind {
    Class(String),
    /// Inline volumes, which have no class.
    Inline,
    /// All volumes for whose class the pool has no capacity of its own.
    Fallback,
}

#[derive(Clone, Debug)]
pub(super) struct VolumeRequest {
    pub(super) driver: String,
    /// StorageClass name; `None` for an inline volume.
    pub(super) class: Option<String>,
    pub(super) bytes: u64,
}

impl Node {
    pub(super) fn new(name: &str, labels: &[(&str, &str)]) -> Self {
        let own = [(HOSTNAME, name)];
        let all = labels.iter().chain(&own);
        Self {
            name: name.to_owned(),
            labels: all
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }
}

impl NodeAccess {
    /// Access from the node with this name.
    pub(super) fn node(name: &str) -> Self {
        Self::Nodes([name.to_owned()].into())
    }

    /// Access from the nodes whose label `key` has this value.
    pub(super) fn label(key: &str, value: &str) -> Self {
        Self::Terms(NodeSelector::of(key, "In", &[value]))
    }

    pub(super) fn admits(&self, node: &Node) -> bool {
        match self {
            Self::Cluster => true,
            Self::Nodes(names) => names.contains(&node.name),
            Self::Terms(selector) => selector.matches(&node.labels),
        }
    }
}

impl PoolCapacity {
    pub(super) fn new(of: VolumeKind, bytes: u64) -> Self {
        Self {
            of,
            bytes,
            total: None,
            until: None,
        }
    }
}

impl VolumeKind {
    pub(super) fn class(name: &str) -> Self {
        Self::Class(name.to_owned())
    }
}

impl VolumeRequest {
    pub(super) fn new(driver: &str, class: Option<&str>, bytes: u64) -> Self {
        Self {
            driver: driver.to_owned(),
            class: class.map(str::to_owned),
            bytes,
        }
    }

    /// The most specific kind of capacity that applies to the requested volume.
    pub(super) fn requested_kind(&self) -> VolumeKind {
        self.class.clone().map_or(VolumeKind::Inline, VolumeKind::Class)
    }
}

impl InputCluster {
    pub(super) fn tracks(&self, driver: &str) -> bool {
        let found = self.drivers.iter().find(|it| it.name == driver);
        found.is_some_and(|driver| driver.tracks == Some(true))
    }

    /// The nodes on which the volume can be provisioned. All nodes if the driver's capacity is not tracked.
    pub(super) fn feasible_nodes(&self, volume_request: &VolumeRequest) -> BTreeSet<&str> {
        let has_access = |node: &&Node| {
            let mut pools = self
                .pools
                .iter()
                .filter(|pool| pool.driver == volume_request.driver);
            pools.any(|pool| self.has_room(pool, volume_request) && pool.node_access.admits(node))
        };
        let tracked = self.tracks(&volume_request.driver);
        let nodes = self.nodes.iter().filter(|node| !tracked || has_access(node));
        nodes.map(|node| node.name.as_str()).collect()
    }

    fn has_room(&self, pool: &Pool, volume_request: &VolumeRequest) -> bool {
        let valid = |capacity: &&PoolCapacity| capacity.until.is_none_or(|until| self.now < until);
        let of = |of: &VolumeKind| {
            pool.capacities
                .iter()
                .filter(valid)
                .find(|capacity| capacity.of == *of)
        };
        of(&volume_request.requested_kind())
            .or_else(|| of(&VolumeKind::Fallback))
            .is_some_and(|capacity| capacity.bytes >= volume_request.bytes)
    }
}
