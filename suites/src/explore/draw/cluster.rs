//! Generates the cluster before the programs start.

use std::collections::BTreeMap;

use harness::scenario::{Mode, Role};

use super::super::dice::Dice;
use super::super::focus::Focus;
use super::super::sizes;
use super::super::state::State;
use super::super::world::{CLASSES, Driver, Node, Volume, World};
use super::places::{LABEL_MAX, LONG_NODES, NODES};
use super::{objects, places, settings, storage};

/// Generates a cluster.
pub(super) fn world(dice: &mut Dice, focus: &Focus) -> World {
    let mode = *dice.pick(focus.modes);
    let keys = places::keys(dice);
    let driver = storage::driver(dice, keys);
    let mut world = World {
        roles: focus.roles.to_vec(),
        mode,
        metrics: dice.one_in(4),
        nodes: nodes(dice, &driver),
        driver,
        ..World::default()
    };
    if dice.one_in(4) {
        let release = settings::release(dice);
        (world.release, world.gates) = (release.to, release.gates);
    }
    if focus.has(Role::Publisher) {
        world.publisher = publisher(dice, focus, mode);
    }
    if focus.has(Role::Scheduler) {
        world.scheduler = settings::scheduler(dice);
        if dice.one_in(5) {
            world.extenders = settings::extenders(dice);
        }
    }
    let classes = dice.between(0, 3) as usize;
    let names = &CLASSES[..classes];
    let driver = &world.driver;
    world.classes = names
        .iter()
        .map(|name| storage::class(dice, driver, name))
        .collect();
    world.backend = backend(dice, &world);
    if State::of(&world).is_served() {
        world.capacity_objects = objects::prior(dice, focus, &world);
    }
    if focus.has(Role::Scheduler) && dice.one_in(3) {
        world.volumes = volumes(dice, &world);
    }
    world
}

fn publisher(dice: &mut Dice, focus: &Focus, mode: Mode) -> super::super::world::Publisher {
    let mut publisher = settings::publisher(dice, mode);
    if focus.has(Role::Cleaner) {
        // The publisher recognises its objects by labels.
        publisher.identify_by_owner = false;
        publisher.namespace = true;
    }
    publisher
}

fn nodes(dice: &mut Dice, driver: &Driver) -> Vec<Node> {
    let count = dice.between(1, 4) as usize;
    let mut names = NODES[..count].to_vec();
    if dice.one_in(3) {
        names[count - 1] = *dice.pick(&LONG_NODES);
    }
    names.into_iter().map(|name| node(dice, driver, name)).collect()
}

/// A node of this name.
pub(super) fn node(dice: &mut Dice, driver: &Driver, name: &str) -> Node {
    let keys = driver.topology_keys.as_ref().filter(|keys| keys.len() > 1);
    let mut labels = places::long_labels(name, driver);
    labels.extend(places::labels(dice, driver));
    Node {
        labels,
        registered: !dice.one_in(10),
        topology_keys: keys.filter(|_| dice.one_in(5)).map(|keys| vec![keys[0].clone()]),
        unschedulable: dice.one_in(20),
        ..places::node(name)
    }
}

fn backend(dice: &mut Dice, world: &World) -> BTreeMap<String, super::super::world::Pool> {
    let segments = places::segments(&world.nodes, &world.driver);
    let with_storage = segments.into_iter().filter_map(|segment| {
        let pool = storage::pool(dice);
        (!dice.one_in(8)).then_some((segment, pool))
    });
    with_storage.collect()
}

/// Pre-provisioned volumes of a class.
fn volumes(dice: &mut Dice, world: &World) -> Vec<Volume> {
    let mut volumes = Vec::new();
    for index in 1..=dice.between(1, 2) {
        let classes = world.classes.iter().map(|class| class.name.clone());
        let nodes = world.nodes.iter().map(|node| node.name.clone());
        // Longer names are invalid as selector values.
        let nodes = nodes.filter(|name| name.len() <= LABEL_MAX);
        volumes.push(Volume {
            name: format!("v{index}"),
            class: dice.any(classes).unwrap_or_else(|| "fast".to_owned()),
            size: sizes::size(dice),
            node: dice.any(nodes).filter(|_| !dice.one_in(3)),
        });
    }
    volumes
}
