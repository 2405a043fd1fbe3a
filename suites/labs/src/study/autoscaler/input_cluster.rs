//! The simulated cluster before the first round: node groups, drivers with storage, and pods.

use std::collections::BTreeMap;

use capacity_types::Labels;

/// The topology label for zones, set by the cloud provider.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";

/// The node groups, drivers and pods with which a simulation of the autoscaler starts.
#[derive(Clone, Debug, Default)]
pub(super) struct InputCluster {
    pub(super) groups: Vec<Group>,
    pub(super) drivers: Vec<Driver>,
    /// The pods created in the first round.
    pub(super) pods: Vec<Pod>,
}

/// A node group: equal nodes that the autoscaler can add and remove.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Prefix of the node names.
    pub(super) name: String,
    /// Initial labels of each node, set by the cloud provider.
    pub(super) labels: Labels,
    /// Number of nodes at the start, which is the minimum number of nodes of the group.
    pub(super) min_size: usize,
    pub(super) max_size: usize,
    /// Maximum number of pods per node, which the autoscaler knows.
    pub(super) slots: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Driver {
    /// Name of the driver, which is also the provisioner of its classes.
    pub(super) name: String,
    /// Topology key of the driver's segments. The driver sets this label when it starts on a node.
    pub(super) key: String,
    pub(super) classes: Vec<String>,
    pub(super) scope: Scope,
    /// Number of rounds from the creation of a node until the driver runs on the node.
    pub(super) delay: usize,
    /// Sizes in bytes of the disks of a segment without volumes.
    pub(super) disks: Vec<u64>,
    pub(super) reports: ReportedCapacity,
}

/// The nodes that share a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Node,
    Zone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportedCapacity {
    /// Total free space of the segment; a volume may span disks.
    Total,
    /// Maximum volume size, which is the largest free disk space: each volume uses one disk.
    MaximumVolumeSize,
}

/// A pod with one claim.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) class: String,
    /// Size of the claim, in bytes.
    pub(super) bytes: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) group: usize,
    pub(super) labels: Labels,
    /// The round in which the node was added.
    pub(super) since: usize,
}

/// Free bytes of a segment's disks.
pub(super) type Disks = Vec<u64>;

impl Group {
    /// A node group without initial nodes, with up to 20 nodes of up to 110 pods each (the kubelet's default).
    pub(super) fn new(name: &str, zone: &str) -> Self {
        Self {
            name: name.to_owned(),
            labels: [(ZONE.to_owned(), zone.to_owned())].into(),
            min_size: 0,
            max_size: 20,
            slots: 110,
        }
    }
}

impl Driver {
    /// The value of the driver's topology label on a node.
    pub(super) fn segment(&self, node: &Node) -> Option<String> {
        match self.scope {
            Scope::Node => Some(node.name.clone()),
            Scope::Zone => node.labels.get(ZONE).cloned(),
        }
    }

    pub(super) fn runs_on(&self, node: &Node, round: usize) -> bool {
        round >= node.since + self.delay
    }

    /// The capacity that the driver reports for a segment with these free disks, in bytes.
    pub(super) fn reported_capacity(&self, disks: &Disks) -> u64 {
        match self.reports {
            ReportedCapacity::Total => disks.iter().sum(),
            ReportedCapacity::MaximumVolumeSize => disks.iter().max().copied().unwrap_or_default(),
        }
    }

    /// Provisions a volume. Returns false if the segment has too little free capacity.
    pub(super) fn provision(&self, disks: &mut Disks, bytes: u64) -> bool {
        if self.reported_capacity(disks) < bytes {
            return false;
        }
        match self.reports {
            ReportedCapacity::Total => {
                let left = disks.iter().sum::<u64>() - bytes;
                *disks = vec![left];
            }
            ReportedCapacity::MaximumVolumeSize => {
                let fitting = (0..disks.len()).filter(|index| disks[*index] >= bytes);
                if let Some(index) = fitting.min_by_key(|index| disks[*index]) {
                    disks.remove(index);
                }
            }
        }
        true
    }
}

/// Free disk space by driver (index) and topology segment.
pub(super) type Storage = BTreeMap<(usize, String), Disks>;
