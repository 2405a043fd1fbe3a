//! The three examples of the KEP: local storage, classes with different overhead, and storage in two regions.

use super::world::{Class, Driver, Node, NodeAccess, Pool, PoolCapacity, VolumeKind, VolumeRequest, World};

/// The region label, and its deprecated form of 2019.
pub(super) const REGION: &str = "topology.kubernetes.io/region";
pub(super) const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";

const GIGA: u64 = 1_000_000_000;

/// All three, with this region label.
pub(super) fn worlds(region: &str) -> [World; 3] {
    [local(), classes(), regions(region)]
}

/// Two nodes with local storage, equal for every class.
pub(super) fn local() -> World {
    let mut world = of_driver("hostpath.csi.k8s.io", &["fast"]);
    for (name, giga) in [("node-1", 256), ("node-2", 512)] {
        world.nodes.push(Node::new(name, &[]));
        add(
            &mut world,
            name,
            NodeAccess::node(name),
            &[(VolumeKind::Others, giga)],
        );
    }
    world
}

/// One node, on which mirrored volumes use twice the space.
fn classes() -> World {
    let mut world = of_driver("lvm", &["striped", "mirrored"]);
    world.nodes = vec![Node::new("node-1", &[]), Node::new("node-2", &[])];
    let capacities = [
        (VolumeKind::class("striped"), 256),
        (VolumeKind::class("mirrored"), 128),
    ];
    add(&mut world, "node-1", NodeAccess::node("node-1"), &capacities);
    world
}

/// Two regions.
fn regions(label: &str) -> World {
    let mut world = of_driver("pd.csi.storage.gke.io", &["standard"]);
    for (node, region) in [("e1", "us-east-1"), ("e2", "us-east-1"), ("w1", "us-west-1")] {
        world.nodes.push(Node::new(node, &[(label, region)]));
    }
    for (region, giga) in [("us-east-1", 128), ("us-west-1", 256)] {
        add(
            &mut world,
            region,
            NodeAccess::label(label, region),
            &[(VolumeKind::Others, giga)],
        );
    }
    world
}

fn of_driver(driver: &str, classes: &[&str]) -> World {
    let class = |name: &&str| Class {
        name: (*name).to_owned(),
        driver: driver.to_owned(),
    };
    World {
        drivers: vec![Driver {
            name: driver.to_owned(),
            tracks: Some(true),
        }],
        classes: classes.iter().map(class).collect(),
        ..World::default()
    }
}

fn add(world: &mut World, name: &str, node_access: NodeAccess, capacities: &[(VolumeKind, u64)]) {
    let capacity = |(of, giga): &(VolumeKind, u64)| PoolCapacity::new(of.clone(), giga * GIGA);
    world.pools.push(Pool {
        name: name.to_owned(),
        driver: world.drivers[0].name.clone(),
        node_access,
        capacities: capacities.iter().map(capacity).collect(),
    });
}

/// A claim of each class, with sizes around every capacity.
pub(super) fn volume_requests(world: &World) -> Vec<VolumeRequest> {
    let capacities = world.pools.iter().flat_map(|pool| &pool.capacities);
    let bytes: Vec<u64> = capacities.map(|capacity| capacity.bytes).collect();
    let sizes = bytes.iter().flat_map(|bytes| [bytes - 1, *bytes, bytes + 1]);
    let of_class = |class: &Class| {
        let volume_request = |bytes| VolumeRequest::new(&class.driver, Some(&class.name), bytes);
        sizes.clone().map(volume_request).collect::<Vec<_>>()
    };
    world.classes.iter().flat_map(of_class).collect()
}
