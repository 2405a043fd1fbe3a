//! Schedules one stream of claims, one claim after the other, with the reference scheduler.
//!
//! Each volume is provisioned and the new capacity published before the next pod is created, so that only the policy affects the result.

use std::collections::BTreeSet;
use std::sync::Arc;

use capacity_scheduler::cycle::{self, Assessment, Decision};
use capacity_scheduler::objects::Pod;
use capacity_scheduler::rules::Rules;
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;
use capacity_types::Labels;

use crate::study::cluster;
use crate::study::seeded_rng::SeededRng;

const DRIVER: &str = "disk.example.com";
const CLASS: &str = "fast";
const HOST: &str = "kubernetes.io/hostname";

/// Every n-th pod is scheduled without scoring as well, to compare the feasible nodes.
const COMPARED: usize = 8;

/// The result of scheduling one stream of claims, and values measured while the cluster filled.
#[derive(Clone, Debug, Default)]
pub(super) struct ScheduledClaims {
    /// Sizes of the scheduled claims, in GiB.
    pub(super) placed: Vec<u64>,
    /// Sizes of the claims that were not scheduled, in GiB.
    pub(super) refused: Vec<u64>,
    /// Number of claims that were not scheduled although a node had enough capacity.
    pub(super) refused_with_room: usize,
    /// Number of compared pods for which scoring changes the set of feasible nodes.
    pub(super) other_nodes: usize,
    pub(super) compared: usize,
    /// Standard deviation of the nodes' utilisation, measured when the cluster is half full.
    pub(super) deviation: f64,
    /// Share of the volumes that could double in size, measured when the cluster is half full.
    pub(super) can_grow: f64,
    /// Number of nodes with a volume, measured when the cluster is a quarter full.
    pub(super) nodes_used: usize,
    /// Utilisation of the cluster after each claim, from 0 to 1.
    pub(super) course: Vec<f64>,
}

/// A node with its capacity and volumes; all sizes in GiB.
#[derive(Clone, Debug)]
struct Node {
    name: String,
    room: u64,
    free: u64,
    volumes: Vec<u64>,
}

/// Schedules all claims on nodes with the capacities `room`, in GiB.
pub(super) fn schedule_claims(
    rules: &Rules,
    room: &[u64],
    claims: &[u64],
    rng: &mut SeededRng,
) -> ScheduledClaims {
    let mut cluster = Cluster::new(room);
    let mut filled = ScheduledClaims::default();
    let all: u64 = room.iter().sum();
    let (mut at_half, mut at_quarter) = (false, false);
    for size in claims {
        match cluster.schedule(rules, *size, rng, &mut filled) {
            true => filled.placed.push(*size),
            false => filled.refused.push(*size),
        }
        let taken = filled.placed.iter().sum::<u64>();
        filled.course.push(taken as f64 / all as f64);
        if !at_quarter && 4 * taken >= all {
            at_quarter = true;
            filled.nodes_used = cluster.nodes.iter().filter(|it| !it.volumes.is_empty()).count();
        }
        if !at_half && 2 * taken >= all {
            at_half = true;
            filled.deviation = deviation(&cluster.nodes);
            filled.can_grow = can_grow(&cluster.nodes);
        }
    }
    filled
}

struct Cluster {
    nodes: Vec<Node>,
    snapshot: Snapshot,
}

impl Cluster {
    fn new(room: &[u64]) -> Self {
        let mut snapshot = Snapshot::default();
        snapshot.drivers.put(cluster::driver(DRIVER, true));
        snapshot.classes.put(cluster::class(CLASS, DRIVER));
        let mut nodes = Vec::new();
        for (number, room) in room.iter().enumerate() {
            let name = format!("n{number:03}");
            snapshot.nodes.put(cluster::node(&name, label(&name)));
            publish(&mut snapshot, &name, *room);
            nodes.push(Node {
                name,
                room: *room,
                free: *room,
                volumes: Vec::new(),
            });
        }
        Self { nodes, snapshot }
    }

    /// Schedules a pod, provisions the volume and publishes the free capacity. Returns whether the volume was provisioned.
    fn schedule(
        &mut self,
        rules: &Rules,
        size: u64,
        rng: &mut SeededRng,
        filled: &mut ScheduledClaims,
    ) -> bool {
        self.snapshot
            .claims
            .put(cluster::claim("claim", CLASS, size << 30));
        let pod = cluster::pod("pod", ["claim"]);
        if (filled.placed.len() + filled.refused.len()).is_multiple_of(COMPARED) {
            let unscored = self.feasible_nodes(&Rules::default(), &pod);
            filled.other_nodes += usize::from(self.feasible_nodes(rules, &pod) != unscored);
            filled.compared += 1;
        }
        let made = match cycle::decide(&self.snapshot, rules, &pod, rng.generator()) {
            Decision::Place(chosen) => self.provision(chosen.node.name(), size),
            _ => false,
        };
        let has_room = self.nodes.iter().any(|node| node.free >= size);
        filled.refused_with_room += usize::from(!made && has_room);
        made
    }

    /// Provisions the volume if the node has enough capacity, and publishes the remaining capacity.
    fn provision(&mut self, name: &str, size: u64) -> bool {
        let Some(node) = self.nodes.iter_mut().find(|node| node.name == name) else {
            return false;
        };
        let Some(free) = node.free.checked_sub(size) else {
            return false;
        };
        node.free = free;
        node.volumes.push(size);
        publish(&mut self.snapshot, name, free);
        true
    }

    fn feasible_nodes(&self, rules: &Rules, pod: &Pod) -> BTreeSet<String> {
        let names = |assessment: Assessment| {
            let nodes = assessment.feasible.iter();
            nodes.map(|feasible| feasible.node.name().to_owned()).collect()
        };
        cycle::run_filters(&self.snapshot, rules, pod).map_or_else(|_| BTreeSet::new(), names)
    }
}

fn label(name: &str) -> Labels {
    [(HOST.to_owned(), name.to_owned())].into()
}

fn publish(snapshot: &mut Snapshot, name: &str, free: u64) {
    let topology = cluster::topology_with_labels(&label(name));
    let object = cluster::capacity(name, CLASS, topology, Some(free << 30));
    snapshot.capacities.put(Arc::new(object));
}

/// Computes the standard deviation of the nodes' utilisation.
fn deviation(nodes: &[Node]) -> f64 {
    let shares: Vec<f64> = nodes
        .iter()
        .map(|node| (node.room - node.free) as f64 / node.room as f64)
        .collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let squares = shares.iter().map(|share| (share - mean).powi(2));
    (squares.sum::<f64>() / shares.len() as f64).sqrt()
}

/// Computes the share of volumes that could double in size, because their node has enough free capacity.
fn can_grow(nodes: &[Node]) -> f64 {
    let all: usize = nodes.iter().map(|node| node.volumes.len()).sum();
    let growing = nodes
        .iter()
        .map(|node| node.volumes.iter().filter(|size| **size <= node.free).count());
    growing.sum::<usize>() as f64 / all as f64
}
