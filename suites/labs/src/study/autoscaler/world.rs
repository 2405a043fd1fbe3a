//! What there is besides the autoscaler: groups of nodes, drivers with storage, and pods. No driver is treated unlike another.

use std::collections::BTreeMap;

use capacity_types::Labels;

/// The zone of a node, which the cloud knows.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";

/// All of it, before the first round.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    /// The groups that may grow.
    pub(super) groups: Vec<Group>,
    /// The drivers.
    pub(super) drivers: Vec<Driver>,
    /// The pods that come in the first round.
    pub(super) pods: Vec<Pod>,
}

/// Nodes that are made alike.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Begins the names of its nodes.
    pub(super) name: String,
    /// Labels of each node from its beginning, as the cloud sets them.
    pub(super) labels: Labels,
    /// Nodes at first, which it never has less of.
    pub(super) least: usize,
    /// Nodes at most.
    pub(super) most: usize,
    /// Pods that a node takes, whatever their volumes. The autoscaler knows that of any node.
    pub(super) slots: usize,
}

/// A driver with its storage.
#[derive(Clone, Debug)]
pub(super) struct Driver {
    /// The provisioner of its classes.
    pub(super) name: String,
    /// The label by which its segments are told apart; the driver puts it on a node when it starts there.
    pub(super) key: String,
    /// Its storage classes.
    pub(super) classes: Vec<String>,
    /// What a segment is.
    pub(super) scope: Scope,
    /// Rounds that it takes until it runs on a new node.
    pub(super) delay: usize,
    /// Bytes of each disk of a segment that nobody has used yet.
    pub(super) disks: Vec<u64>,
    /// What it says of them.
    pub(super) tells: Tells,
}

/// What a segment of a driver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Each node has storage of its own.
    Node,
    /// The nodes of a zone share storage.
    Zone,
}

/// Which figure a driver gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// All bytes that are left, and volumes may lie across disks.
    Total,
    /// The largest volume that can be made; volumes take a disk each.
    Largest,
}

/// A pod with one claim.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    /// The class of its claim.
    pub(super) class: String,
    /// The bytes of its claim.
    pub(super) bytes: u64,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) group: usize,
    pub(super) labels: Labels,
    /// The round in which it came.
    pub(super) since: usize,
}

/// What is left of a segment's disks.
pub(super) type Disks = Vec<u64>;

impl Group {
    /// A group without nodes that may have twenty, each for any number of pods.
    pub(super) fn new(name: &str, zone: &str) -> Self {
        Self {
            name: name.to_owned(),
            labels: [(ZONE.to_owned(), zone.to_owned())].into(),
            least: 0,
            most: 20,
            slots: 110,
        }
    }
}

impl Driver {
    /// The value of its label on a node.
    pub(super) fn segment(&self, node: &Node) -> Option<String> {
        match self.scope {
            Scope::Node => Some(node.name.clone()),
            Scope::Zone => node.labels.get(ZONE).cloned(),
        }
    }

    /// Whether it runs on a node by this round.
    pub(super) fn runs_on(&self, node: &Node, round: usize) -> bool {
        round >= node.since + self.delay
    }

    /// The figure for these disks.
    pub(super) fn figure(&self, disks: &Disks) -> u64 {
        match self.tells {
            Tells::Total => disks.iter().sum(),
            Tells::Largest => disks.iter().max().copied().unwrap_or_default(),
        }
    }

    /// Makes a volume, if it can.
    pub(super) fn make(&self, disks: &mut Disks, bytes: u64) -> bool {
        if self.figure(disks) < bytes {
            return false;
        }
        match self.tells {
            Tells::Total => {
                let left = disks.iter().sum::<u64>() - bytes;
                *disks = vec![left];
            }
            Tells::Largest => {
                let fitting = (0..disks.len()).filter(|place| disks[*place] >= bytes);
                if let Some(place) = fitting.min_by_key(|place| disks[*place]) {
                    disks.remove(place);
                }
            }
        }
        true
    }
}

/// What is left, by driver and segment.
pub(super) type Storage = BTreeMap<(usize, String), Disks>;
