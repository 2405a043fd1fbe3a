//! Random clusters, and volume requests that distinguish them.

use super::selector::{NodeSelector, Term};
use super::world::{Class, Driver, Node, NodeAccess, Pool, PoolCapacity, VolumeKind, VolumeRequest, World};
use crate::study::dice::Dice;

const ZONE: &str = "topology.kubernetes.io/zone";
const ZONES: [&str; 3] = ["a", "b", "c"];
const RANK: &str = "disk.example.com/rank";

/// Unit and maximum number of units of a capacity, small so that sizes often match.
const STEP: u64 = 1 << 30;
const STEPS: u64 = 8;

/// A random cluster of a few nodes.
pub(super) fn world(dice: &mut Dice) -> World {
    let mut world = World {
        now: 1000,
        ..World::default()
    };
    for number in 0..1 + dice.below(8) {
        let (zone, rank) = (zone(dice), dice.below(4).to_string());
        let labels = [(ZONE, zone), (RANK, rank.as_str())];
        world.nodes.push(Node::new(&format!("n{number}"), &labels));
    }
    for number in 0..1 + dice.below(2) {
        world.drivers.push(Driver {
            name: format!("d{number}.example.com"),
            tracks: *dice.pick(&[Some(true), Some(true), Some(true), Some(false), None]),
        });
    }
    for number in 0..1 + dice.below(3) {
        let driver = dice.pick(&world.drivers).name.clone();
        let name = format!("c{number}");
        world.classes.push(Class { name, driver });
    }
    // Half of the clusters can be expressed in all designs.
    let is_plain = dice.one_in(2);
    for number in 0..dice.below(7) {
        let pool = pool(dice, &world, format!("p{number}"), is_plain);
        world.pools.push(pool);
    }
    world
}

fn zone(dice: &mut Dice) -> &'static str {
    ZONES[dice.index(ZONES.len())]
}

fn pool(dice: &mut Dice, world: &World, name: String, is_plain: bool) -> Pool {
    let driver = dice.pick(&world.drivers).name.clone();
    let mut capacities = Vec::new();
    let classes = world.classes.iter().filter(|class| class.driver == driver);
    let mut volumes: Vec<VolumeKind> = classes.map(|class| VolumeKind::class(&class.name)).collect();
    volumes.push(VolumeKind::Others);
    if !is_plain {
        volumes.push(VolumeKind::Inline);
    }
    for of in volumes {
        if dice.one_in(2) {
            let mut capacity = PoolCapacity::new(of, dice.below(STEPS) * STEP);
            if !is_plain && dice.one_in(6) {
                capacity.until = Some(*dice.pick(&[999, 1000, 1001]));
            }
            if !is_plain && dice.one_in(6) {
                capacity.total = Some(capacity.bytes + dice.below(STEPS) * STEP);
            }
            capacities.push(capacity);
        }
    }
    Pool {
        name,
        driver,
        node_access: node_access(dice, world, is_plain),
        capacities,
    }
}

fn node_access(dice: &mut Dice, world: &World, is_plain: bool) -> NodeAccess {
    match dice.below(5) {
        0 => NodeAccess::Cluster,
        1 => NodeAccess::node(&dice.pick(&world.nodes).name),
        2 => {
            let names = [dice.pick(&world.nodes), dice.pick(&world.nodes)];
            NodeAccess::Nodes(names.into_iter().map(|node| node.name.clone()).collect())
        }
        3 if !is_plain && dice.one_in(4) => NodeAccess::Terms(NodeSelector::of(RANK, "Gt", &["1"])),
        3 => NodeAccess::label(ZONE, zone(dice)),
        _ => NodeAccess::Terms(NodeSelector {
            node_selector_terms: vec![
                Term::of(ZONE, "In", &[zone(dice)]),
                Term::of(RANK, "NotIn", &["0", "1"]),
            ],
        }),
    }
}

/// A volume of each class and an inline volume of each driver, with sizes equal to, above and below every capacity.
pub(super) fn volume_requests(world: &World) -> Vec<VolumeRequest> {
    let classes = world
        .classes
        .iter()
        .map(|class| (class.driver.as_str(), Some(class.name.as_str())));
    let inline = world.drivers.iter().map(|driver| (driver.name.as_str(), None));
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
