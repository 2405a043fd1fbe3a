//! The rules check large clusters, in both modes, in one pass over nodes, classes and objects. An algorithm with quadratic time would take
//! hours.

use capacity_spec::World;
use capacity_spec::objects::{judge, settled};
use capacity_spec::placement::IndexedWorld;
use capacity_spec::world::{CapacityResponse, Change, Deployment, Driver, Publisher};

use super::build::{CLASS, DRIVER, GI, add_pod, central, class, join, of_node, publisher, segment_of, world};

const NODES: usize = 5000;
const CLASSES: usize = 10;

fn large() -> World {
    let mut world = world();
    let driver = Driver {
        default_response: CapacityResponse::available(10 * GI),
        ..Driver::default()
    };
    world.apply(Change::Driver(DRIVER.to_owned(), Some(driver)));
    for number in 3..=NODES {
        join(&mut world, &format!("n{number}"));
    }
    for number in 1..CLASSES {
        world.classes.insert(format!("{CLASS}-{number}"), class());
    }
    world
}

fn distributed(mut world: World) -> World {
    world.publishers.remove(&central());
    for node in world.nodes.keys() {
        let publisher = Publisher {
            deployment: Deployment::Distributed(segment_of(node)),
            ..publisher()
        };
        world.publishers.insert(of_node(node), publisher);
    }
    world
}

#[test]
fn five_thousand_nodes_and_ten_classes_are_checked_in_one_pass() {
    for mut world in [large(), distributed(large())] {
        world.objects = settled(&world);
        assert_eq!(world.objects.len(), NODES * CLASSES);
        assert_eq!(judge(&world, &world.objects), []);
        let pod = add_pod(&mut world, "app", &["10Gi"]);
        let too_large = add_pod(&mut world, "large", &["11Gi"]);
        let indexed = IndexedWorld::new(&world);
        assert_eq!(indexed.decide(&pod).feasible().count(), NODES);
        assert_eq!(indexed.decide(&too_large).feasible().count(), 0);
    }
}
