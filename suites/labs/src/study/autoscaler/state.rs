//! State of a simulated cluster in a round: nodes, free storage, published objects, and scheduled pods.
//!
//! Drivers, publishers and the scheduler behave as in a cluster without an autoscaler.

use std::collections::BTreeMap;
use std::sync::Arc;

use capacity_scheduler::capacity_index::CapacityIndex;
use capacity_scheduler::cycle;
use capacity_scheduler::objects::Capacity;
use capacity_scheduler::rules::Rules;
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;
use capacity_types::Labels;

use super::input_cluster::{InputCluster, Node, Pod, Storage};
use super::recipe::Recipe;
use crate::study::cluster;

#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) nodes: Vec<Node>,
    /// The node of each scheduled pod, by the index of the pod.
    pub(super) placed: BTreeMap<usize, String>,
    pub(super) pods_deleted: bool,
    storage: Storage,
    /// Number of nodes created so far, for unique names.
    created: usize,
}

impl State {
    /// The state before the first round, in which the initial nodes are ready.
    pub(super) fn new(cluster: &InputCluster) -> Self {
        let mut state = Self {
            nodes: Vec::new(),
            placed: BTreeMap::new(),
            pods_deleted: false,
            storage: Storage::new(),
            created: 0,
        };
        for (group, it) in cluster.groups.iter().enumerate() {
            (0..it.min_size).for_each(|_| state.add(cluster, group, 0));
        }
        let longest = cluster.drivers.iter().map(|driver| driver.delay).max();
        state.start_drivers(cluster, longest.unwrap_or_default());
        state
    }

    /// Adds a node to a node group.
    pub(super) fn add(&mut self, cluster: &InputCluster, group: usize, round: usize) {
        let labels = cluster.groups[group].labels.clone();
        let name = format!("{}-{}", cluster.groups[group].name, self.created);
        self.created += 1;
        self.nodes.push(Node {
            name,
            group,
            labels,
            since: round,
        });
    }

    /// Removes a node together with its local storage.
    pub(super) fn remove(&mut self, cluster: &InputCluster, name: &str) {
        self.nodes.retain(|node| node.name != name);
        let nodes = &self.nodes;
        self.storage.retain(|(driver, segment), _| {
            let driver = &cluster.drivers[*driver];
            let mut nodes = nodes.iter();
            nodes.any(|node| driver.segment(node).as_ref() == Some(segment))
        });
    }

    /// Starts the drivers whose start delay has passed on a node. A driver labels the node and adds the storage of a new segment.
    pub(super) fn start_drivers(&mut self, cluster: &InputCluster, round: usize) {
        for node in &mut self.nodes {
            for (number, driver) in cluster.drivers.iter().enumerate() {
                let Some(segment) = driver.segment(node).filter(|_| driver.runs_on(node, round)) else {
                    continue;
                };
                node.labels.insert(driver.key.clone(), segment.clone());
                let disks = || driver.disks.clone();
                self.storage.entry((number, segment)).or_insert_with(disks);
            }
        }
    }

    /// The capacity objects that publishers write in this state.
    pub(super) fn published(&self, cluster: &InputCluster) -> Vec<Capacity> {
        let mut objects = Vec::new();
        for ((number, segment), disks) in &self.storage {
            let driver = &cluster.drivers[*number];
            let labels: Labels = [(driver.key.clone(), segment.clone())].into();
            for class in &driver.classes {
                let name = format!("{class}-{segment}");
                let bytes = Some(driver.reported_capacity(disks));
                objects.push(cluster::capacity(
                    &name,
                    class,
                    cluster::topology_with_labels(&labels),
                    bytes,
                ));
            }
        }
        objects
    }

    /// All capacity objects, whether written by publishers or by the administrator.
    pub(super) fn objects(&self, cluster: &InputCluster, recipe: &Recipe) -> Vec<Capacity> {
        let mut objects = self.published(cluster);
        for (number, object) in recipe.objects.iter().enumerate() {
            let topology = cluster::topology_with_labels(&object.segment);
            let name = format!("manual-{number}");
            objects.push(cluster::capacity(
                &name,
                &object.class,
                topology,
                Some(object.bytes),
            ));
        }
        objects
    }

    /// Schedules the pending pods in order. Each volume is provisioned and published before the next pod is scheduled.
    pub(super) fn schedule(&mut self, cluster: &InputCluster, recipe: &Recipe) {
        for number in self.pending_pods(cluster) {
            let pod = &cluster.pods[number];
            let nodes = self.nodes.iter().filter(|node| self.has_slot(cluster, node));
            let nodes: Vec<_> = nodes.map(|it| (it.name.clone(), it.labels.clone())).collect();
            let objects = self.objects(cluster, recipe);
            let Some(name) = feasible_nodes(cluster, &nodes, &objects, pod).into_iter().next() else {
                continue;
            };
            if self.provision(cluster, &name, pod) {
                self.placed.insert(number, name);
            }
        }
    }

    fn has_slot(&self, cluster: &InputCluster, node: &Node) -> bool {
        let pods = self.placed.values().filter(|name| **name == node.name);
        pods.count() < cluster.groups[node.group].slots
    }

    fn provision(&mut self, cluster: &InputCluster, name: &str, pod: &Pod) -> bool {
        let Some(number) = cluster
            .drivers
            .iter()
            .position(|driver| driver.classes.contains(&pod.class))
        else {
            return false;
        };
        let driver = &cluster.drivers[number];
        let node = self.nodes.iter().find(|node| node.name == name);
        let segment = node.and_then(|node| node.labels.get(&driver.key)).cloned();
        let disks = segment.and_then(|segment| self.storage.get_mut(&(number, segment)));
        disks.is_some_and(|disks| driver.provision(disks, pod.bytes))
    }

    /// Deletes all pods with their volumes.
    pub(super) fn delete_pods(&mut self, cluster: &InputCluster) {
        self.pods_deleted = true;
        self.placed.clear();
        for ((driver, _), disks) in &mut self.storage {
            *disks = cluster.drivers[*driver].disks.clone();
        }
    }

    /// The indices of the pending pods.
    pub(super) fn pending_pods(&self, cluster: &InputCluster) -> Vec<usize> {
        let waits = |number: &usize| !self.pods_deleted && !self.placed.contains_key(number);
        (0..cluster.pods.len()).filter(waits).collect()
    }

    pub(super) fn idle(&self) -> Vec<Node> {
        let is_idle = |node: &&Node| !self.placed.values().any(|name| *name == node.name);
        self.nodes.iter().filter(is_idle).cloned().collect()
    }
}

/// The nodes that the filter of the reference scheduler accepts for a pod.
pub(super) fn feasible_nodes(
    cluster: &InputCluster,
    nodes: &[(String, Labels)],
    objects: &[Capacity],
    pod: &Pod,
) -> Vec<String> {
    let mut snapshot = Snapshot {
        capacities: index(objects),
        ..Snapshot::default()
    };
    for driver in &cluster.drivers {
        snapshot.drivers.put(cluster::driver(&driver.name, true));
        for class in &driver.classes {
            snapshot.classes.put(cluster::class(class, &driver.name));
        }
    }
    for (name, labels) in nodes {
        snapshot.nodes.put(cluster::node(name, labels.clone()));
    }
    snapshot
        .claims
        .put(cluster::claim("claim", &pod.class, pod.bytes));
    let assessed = cycle::assess(&snapshot, &Rules::default(), &cluster::pod("pod", ["claim"]));
    let nodes = assessed
        .map(|assessment| assessment.feasible)
        .unwrap_or_default()
        .into_iter();
    nodes.map(|feasible| feasible.node.name().to_owned()).collect()
}

fn index(objects: &[Capacity]) -> CapacityIndex {
    let mut index = CapacityIndex::default();
    for object in objects {
        index.put(Arc::new(object.clone()));
    }
    index
}
