//! Generates the cluster before the programs start.

use std::collections::BTreeMap;

use harness::scenario::{Mode, Role};

use super::super::cluster::{CLASSES, Driver, GeneratedCluster, Node, Volume};
use super::super::focus::Focus;
use super::super::rng::SeededRng;
use super::super::sizes;
use super::super::state::State;
use super::topology::{LABEL_MAX, LONG_NODES, NODES};
use super::{objects, settings, storage, topology};

pub(super) fn generate(rng: &mut SeededRng, focus: &Focus) -> GeneratedCluster {
    let mode = *rng.pick(focus.modes);
    let keys = topology::random_topology_keys(rng);
    let driver = storage::driver(rng, keys);
    let mut cluster = GeneratedCluster {
        roles: focus.roles.to_vec(),
        mode,
        metrics: rng.one_in(4),
        nodes: nodes(rng, &driver),
        driver,
        ..GeneratedCluster::default()
    };
    if rng.one_in(4) {
        let release = settings::release(rng);
        (cluster.release, cluster.gates) = (release.to, release.gates);
    }
    if focus.has(Role::Publisher) {
        cluster.publisher = publisher(rng, focus, mode);
    }
    if focus.has(Role::Scheduler) {
        cluster.scheduler = settings::scheduler(rng);
        if rng.one_in(5) {
            cluster.extenders = settings::extenders(rng);
        }
    }
    let classes = rng.between(0, 3) as usize;
    let names = &CLASSES[..classes];
    let driver = &cluster.driver;
    cluster.classes = names
        .iter()
        .map(|name| storage::class(rng, driver, name))
        .collect();
    cluster.backend = backend(rng, &cluster);
    if State::of(&cluster).serves_capacity_objects() {
        cluster.capacity_objects = objects::objects_before_start(rng, focus, &cluster);
    }
    if focus.has(Role::Scheduler) && rng.one_in(3) {
        cluster.volumes = volumes(rng, &cluster);
    }
    cluster
}

fn publisher(rng: &mut SeededRng, focus: &Focus, mode: Mode) -> super::super::cluster::Publisher {
    let mut publisher = settings::publisher(rng, mode);
    if focus.has(Role::Cleaner) {
        // In the focus on the cleaner, the publisher has a namespace and identifies its objects by labels, not by owner.
        publisher.identify_by_owner = false;
        publisher.namespace = true;
    }
    publisher
}

fn nodes(rng: &mut SeededRng, driver: &Driver) -> Vec<Node> {
    let count = rng.between(1, 4) as usize;
    let mut names = NODES[..count].to_vec();
    if rng.one_in(3) {
        names[count - 1] = *rng.pick(&LONG_NODES);
    }
    names.into_iter().map(|name| node(rng, driver, name)).collect()
}

pub(super) fn node(rng: &mut SeededRng, driver: &Driver, name: &str) -> Node {
    let keys = driver.topology_keys.as_ref().filter(|keys| keys.len() > 1);
    let mut labels = topology::long_labels(name, driver);
    labels.extend(topology::labels(rng, driver));
    Node {
        labels,
        registered: !rng.one_in(10),
        topology_keys: keys.filter(|_| rng.one_in(5)).map(|keys| vec![keys[0].clone()]),
        unschedulable: rng.one_in(20),
        ..topology::node(name)
    }
}

fn backend(rng: &mut SeededRng, cluster: &GeneratedCluster) -> BTreeMap<String, super::super::cluster::Pool> {
    let segments = topology::segments(&cluster.nodes, &cluster.driver);
    let with_storage = segments.into_iter().filter_map(|segment| {
        let pool = storage::pool(rng);
        (!rng.one_in(8)).then_some((segment, pool))
    });
    with_storage.collect()
}

/// One or two pre-provisioned volumes, each of a random class.
fn volumes(rng: &mut SeededRng, cluster: &GeneratedCluster) -> Vec<Volume> {
    let mut volumes = Vec::new();
    for index in 1..=rng.between(1, 2) {
        let classes = cluster.classes.iter().map(|class| class.name.clone());
        let nodes = cluster.nodes.iter().map(|node| node.name.clone());
        // A node name longer than LABEL_MAX is invalid as a label value in a selector.
        let nodes = nodes.filter(|name| name.len() <= LABEL_MAX);
        volumes.push(Volume {
            name: format!("v{index}"),
            class: rng.pick_from_iter(classes).unwrap_or_else(|| "fast".to_owned()),
            size: sizes::size(rng),
            node: rng.pick_from_iter(nodes).filter(|_| !rng.one_in(3)),
        });
    }
    volumes
}
