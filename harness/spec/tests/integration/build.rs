//! Builds the state of a small cluster: two nodes with one segment each, one driver, one StorageClass, one central publisher.

use capacity_spec::World;
use capacity_spec::world::{
    CapacityObject, CapacityResponse, Change, Claim, CsiDriver, CsiNode, Instance, NamespacedName, Node,
    Objects, Owner, Pod, PodVolume, Publisher, Registration, StorageClass, VolumeBindingMode,
};
use capacity_types::{Quantity, Segment, segment};
use serde_json::json;

pub(crate) const DRIVER: &str = "disk.example.com";
pub(crate) const KEY: &str = "disk.example.com/node";
pub(crate) const CLASS: &str = "fast";
pub(crate) const NAMESPACE: &str = "csi";
pub(crate) const GI: i64 = 1 << 30;

/// A cluster whose nodes n1 and n2 have 10Gi and 20Gi of free capacity, without CSIStorageCapacity objects.
pub(crate) fn world() -> World {
    let mut world = World::default();
    for (name, gib) in [("n1", 10), ("n2", 20)] {
        join(&mut world, name);
        set_response(&mut world, name, CapacityResponse::available(gib * GI));
    }
    world.csi_drivers.insert(
        DRIVER.to_owned(),
        CsiDriver {
            storage_capacity: true,
        },
    );
    world.classes.insert(CLASS.to_owned(), class());
    world.publishers.insert(central(), publisher());
    world
}

/// The cluster of `world` with the objects of its publisher.
pub(crate) fn published() -> World {
    let mut world = world();
    world.objects = capacity_spec::objects::settled(&world);
    world
}

pub(crate) fn join(world: &mut World, name: &str) {
    let node = Node {
        labels: segment_of(name),
        ..Node::default()
    };
    let registration = Registration {
        topology_keys: vec![KEY.to_owned()],
        volumes_max: None,
    };
    let csi_node = CsiNode {
        drivers: [(DRIVER.to_owned(), registration)].into(),
    };
    world.apply(Change::Node(name.to_owned(), Some(node)));
    world.apply(Change::CsiNode(name.to_owned(), Some(csi_node)));
}

pub(crate) fn set_response(world: &mut World, node: &str, response: CapacityResponse) {
    world.drivers.entry(DRIVER.to_owned()).or_default();
    world.apply(Change::CapacityResponse(
        DRIVER.to_owned(),
        segment_of(node),
        [].into(),
        response,
    ));
}

pub(crate) fn class() -> StorageClass {
    StorageClass {
        provisioner: DRIVER.to_owned(),
        binding: VolumeBindingMode::WaitForFirstConsumer,
        ..StorageClass::default()
    }
}

pub(crate) fn central() -> Instance {
    Instance {
        driver: DRIVER.to_owned(),
        node: None,
    }
}

pub(crate) fn of_node(node: &str) -> Instance {
    Instance {
        node: Some(node.to_owned()),
        ..central()
    }
}

pub(crate) fn publisher() -> Publisher {
    Publisher {
        namespace: NAMESPACE.to_owned(),
        ..Publisher::default()
    }
}

pub(crate) fn owner(uid: &str) -> Owner {
    Owner {
        kind: "Deployment".to_owned(),
        name: "publisher".to_owned(),
        uid: uid.to_owned(),
        controller: true,
    }
}

pub(crate) fn segment_of(node: &str) -> Segment {
    segment::parse(&format!("{KEY}={node}")).unwrap()
}

pub(crate) fn quantity(text: &str) -> Quantity {
    text.parse().unwrap()
}

/// An object of the central publisher for the StorageClass and the segment of a node.
pub(crate) fn object(node: &str, capacity: &str) -> CapacityObject {
    let json = json!({
        "metadata": {"name": "x", "namespace": NAMESPACE, "labels": {
            "csi.storage.k8s.io/drivername": DRIVER, "csi.storage.k8s.io/managed-by": "external-provisioner",
        }},
        "storageClassName": CLASS, "nodeTopology": {"matchLabels": {KEY: node}}, "capacity": capacity,
    });
    let Some(Change::Object(_, Some(object))) = Change::of_object("csistoragecapacities", &json).unwrap()
    else {
        panic!("it is no capacity object");
    };
    object
}

/// The object for the segment of a node, as another client would create it.
pub(crate) fn by_hand(node: &str, capacity: &str) -> CapacityObject {
    CapacityObject {
        labels: [].into(),
        ..object(node, capacity)
    }
}

pub(crate) fn key(name: &str) -> NamespacedName {
    NamespacedName::new(NAMESPACE, name)
}

/// Namespace and name of the object for the segment of a node.
pub(crate) fn key_of(objects: &Objects, node: &str) -> NamespacedName {
    let found = objects
        .iter()
        .find(|(_, object)| object.segment() == Some(segment_of(node)));
    found.unwrap().0.clone()
}

/// Adds a pod with one PVC for each size.
pub(crate) fn add_pod(world: &mut World, name: &str, sizes: &[&str]) -> NamespacedName {
    let pod = NamespacedName::new("default", name);
    let mut volumes = Vec::new();
    for (index, size) in sizes.iter().enumerate() {
        let claim_name = format!("{name}-{index}");
        let claim = Claim {
            class: CLASS.to_owned(),
            request: Some(quantity(size)),
            ..Claim::default()
        };
        world
            .claims
            .insert(NamespacedName::new("default", &claim_name), claim);
        volumes.push(PodVolume::Claim(claim_name));
    }
    let spec = Pod {
        volumes,
        ..Pod::default()
    };
    world.pods.insert(pod.clone(), spec);
    pod
}
