//! Generates random clusters, and volume requests that distinguish the capacities in a cluster.

use super::input_cluster::{
    Class, Driver, InputCluster, Node, NodeAccess, Pool, PoolCapacity, VolumeKind, VolumeRequest,
};
use super::selector::{NodeSelector, Term};
use crate::study::seeded_rng::SeededRng;

const ZONE: &str = "topology.kubernetes.io/zone";
const ZONES: [&str; 3] = ["a", "b", "c"];
const RANK: &str = "disk.example.com/rank";

/// A capacity is a multiple of `STEP` below `STEPS * STEP`. There are few multiples, so that capacities and volume sizes are often equal.
const STEP: u64 = 1 << 30;
const STEPS: u64 = 8;

/// A random cluster of a few nodes.
pub(super) fn cluster(rng: &mut SeededRng) -> InputCluster {
    let mut cluster = InputCluster {
        now: 1000,
        ..InputCluster::default()
    };
    for number in 0..1 + rng.random_below(8) {
        let (zone, rank) = (zone(rng), rng.random_below(4).to_string());
        let labels = [(ZONE, zone), (RANK, rank.as_str())];
        cluster.nodes.push(Node::new(&format!("n{number}"), &labels));
    }
    for number in 0..1 + rng.random_below(2) {
        cluster.drivers.push(Driver {
            name: format!("d{number}.example.com"),
            tracks: *rng.pick(&[Some(true), Some(true), Some(true), Some(false), None]),
        });
    }
    for number in 0..1 + rng.random_below(3) {
        let driver = rng.pick(&cluster.drivers).name.clone();
        let name = format!("c{number}");
        cluster.classes.push(Class { name, driver });
    }
    // About half of the clusters must be plain, so that all designs can express them.
    let is_plain = rng.true_once_in(2);
    for number in 0..rng.random_below(7) {
        let pool = pool(rng, &cluster, format!("p{number}"), is_plain);
        cluster.pools.push(pool);
    }
    cluster
}

fn zone(rng: &mut SeededRng) -> &'static str {
    ZONES[rng.random_index(ZONES.len())]
}

fn pool(rng: &mut SeededRng, cluster: &InputCluster, name: String, is_plain: bool) -> Pool {
    let driver = rng.pick(&cluster.drivers).name.clone();
    let mut capacities = Vec::new();
    let classes = cluster.classes.iter().filter(|class| class.driver == driver);
    let mut volumes: Vec<VolumeKind> = classes.map(|class| VolumeKind::class(&class.name)).collect();
    volumes.push(VolumeKind::Fallback);
    if !is_plain {
        volumes.push(VolumeKind::Inline);
    }
    for of in volumes {
        if rng.true_once_in(2) {
            let mut capacity = PoolCapacity::new(of, rng.random_below(STEPS) * STEP);
            if !is_plain && rng.true_once_in(6) {
                capacity.until = Some(*rng.pick(&[999, 1000, 1001]));
            }
            if !is_plain && rng.true_once_in(6) {
                capacity.total = Some(capacity.bytes + rng.random_below(STEPS) * STEP);
            }
            capacities.push(capacity);
        }
    }
    Pool {
        name,
        driver,
        node_access: node_access(rng, cluster, is_plain),
        capacities,
    }
}

fn node_access(rng: &mut SeededRng, cluster: &InputCluster, is_plain: bool) -> NodeAccess {
    match rng.random_below(5) {
        0 => NodeAccess::Cluster,
        1 => NodeAccess::node(&rng.pick(&cluster.nodes).name),
        2 => {
            let names = [rng.pick(&cluster.nodes), rng.pick(&cluster.nodes)];
            NodeAccess::Nodes(names.into_iter().map(|node| node.name.clone()).collect())
        }
        3 if !is_plain && rng.true_once_in(4) => NodeAccess::Terms(NodeSelector::of(RANK, "Gt", &["1"])),
        3 => NodeAccess::label(ZONE, zone(rng)),
        _ => NodeAccess::Terms(NodeSelector {
            node_selector_terms: vec![
                Term::of(ZONE, "In", &[zone(rng)]),
                Term::of(RANK, "NotIn", &["0", "1"]),
            ],
        }),
    }
}

/// A volume of each class and an inline volume of each driver, with sizes equal to, above and below every capacity.
pub(super) fn volume_requests(cluster: &InputCluster) -> Vec<VolumeRequest> {
    let classes = cluster
        .classes
        .iter()
        .map(|class| (class.driver.as_str(), Some(class.name.as_str())));
    let inline = cluster.drivers.iter().map(|driver| (driver.name.as_str(), None));
    let mut volume_requests = Vec::new();
    for (driver, class) in classes.chain(inline) {
        for step in 0..STEPS {
            for bytes in [step * STEP, step * STEP + 1] {
                volume_requests.push(VolumeRequest::new(driver, class, bytes));
            }
        }
    }
    volume_requests
}
