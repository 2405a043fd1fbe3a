//! Pods with two claims, one for an existing volume and one to provision: determines which of the two decides on the node.

use std::sync::Arc;

use capacity_scheduler::cycle::{self, Decision};
use capacity_scheduler::objects::Volume;
use capacity_scheduler::objects::node_selector;
use capacity_scheduler::rules::Rules;
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;
use capacity_types::Labels;
use k8s_openapi::api::core::v1::{
    NodeSelector as ApiNodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
};

use crate::study::cluster;
use crate::study::result::{Bound, Finding, findings};
use crate::study::seeded_rng::SeededRng;

const DRIVER: &str = "disk.example.com";
const NODES: [&str; 3] = ["n1", "n2", "n3"];

/// Findings on the node chosen for pods: whether it depends on the free capacity, with and without an existing volume.
pub(super) fn findings(rules: &Rules, pods: usize, rng: &mut SeededRng) -> Vec<Finding> {
    let (mut moved, mut by_room) = (0, 0);
    for _ in 0..pods {
        let volumes = [0; 3].map(|_| 20 + rng.random_below(80));
        let (first, second) = (
            [0; 3].map(|_| 20 + rng.random_below(80)),
            [0; 3].map(|_| 20 + rng.random_below(80)),
        );
        let seed = rng.random_below(u64::MAX);
        let chosen =
            |volumes: Option<[u64; 3]>, free| choose_node(rules, volumes, free, &mut SeededRng::of(seed));
        moved += usize::from(chosen(Some(volumes), first) != chosen(Some(volumes), second));
        by_room += usize::from(chosen(None, first) != chosen(None, second));
    }
    findings![
        none "LIM-17", format!("pods, of {pods}, with an existing volume that get another node if the free capacity for their other claim changes"),
            moved;
        count "LIM-17", "pods without an existing volume that get another node if the free capacity changes", by_room, Bound::Above(0.0);
    ]
}

/// The node chosen for a pod with a claim to provision and, if `volumes` is set, a second claim for one of these existing volumes.
fn choose_node(
    rules: &Rules,
    volumes: Option<[u64; 3]>,
    free: [u64; 3],
    rng: &mut SeededRng,
) -> Option<String> {
    let mut snapshot = Snapshot::default();
    snapshot.drivers.put(cluster::driver(DRIVER, true));
    for class in ["static", "dynamic"] {
        snapshot.classes.put(cluster::class(class, DRIVER));
        snapshot.claims.put(cluster::claim(class, class, 10));
    }
    for (index, name) in NODES.into_iter().enumerate() {
        let label: Labels = [("node".to_owned(), name.to_owned())].into();
        let topology = cluster::topology_with_labels(&label);
        let object = cluster::capacity(name, "dynamic", topology, Some(free[index]));
        snapshot.capacities.put(Arc::new(object));
        snapshot.nodes.put(cluster::node(name, label));
        if let Some(volumes) = volumes {
            snapshot.volumes.put(volume(name, volumes[index]));
        }
    }
    let claims: &[&str] = match volumes {
        Some(_) => &["static", "dynamic"],
        None => &["dynamic"],
    };
    let pod = cluster::pod("pod", claims.iter().copied());
    match cycle::decide(&snapshot, rules, &pod, rng.generator()) {
        Decision::Place(chosen) => Some(chosen.node.name().to_owned()),
        _ => None,
    }
}

/// An existing volume with node affinity to one node.
fn volume(node: &str, bytes: u64) -> Arc<Volume> {
    let affinity = ApiNodeSelector {
        node_selector_terms: vec![NodeSelectorTerm {
            match_expressions: Some(vec![NodeSelectorRequirement {
                key: "node".to_owned(),
                operator: "In".to_owned(),
                values: Some(vec![node.to_owned()]),
            }]),
            match_fields: None,
        }],
    };
    Arc::new(Volume {
        affinity: Some(node_selector(&affinity)),
        ..cluster::volume(node, "static", bytes)
    })
}
