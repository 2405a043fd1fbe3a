//! Generates states of small random clusters: nodes with zero, one or two topology keys, StorageClasses of two drivers, valid and invalid
//! responses, objects of various publishers, pods and volumes.

use capacity_spec::World;
use capacity_spec::world::{
    CapacityObject, CapacityResponse, Change, Claim, CsiDriver, CsiNode, Deployment, Driver, Instance,
    NamespacedName, Node, Pod, PodVolume, Publisher, Registration, ReportedCapacity, StorageClass,
    VolumeBindingMode,
};
use capacity_types::{Quantity, Segment};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::build::{DRIVER, NAMESPACE, central, of_node, publisher};

/// Name of the second driver.
pub(crate) const OTHER: &str = "tape.example.com";
const ZONE: &str = "zone";
const RACK: &str = "rack";
const VALUES: [&str; 2] = ["a", "b"];

/// A node: index of the zone, index of the rack, and the topology keys if the driver is registered.
type DrawnNode = (usize, usize, Option<usize>);
/// A StorageClass: whether the first driver is the provisioner, whether binding is Immediate, and whether the class has the parameter.
type DrawnClass = (bool, bool, bool);
/// A CSIStorageCapacity object: indexes of class, segment and publisher; capacity and maximum.
type DrawnObject = (usize, usize, usize, Option<i64>, Option<i64>);

/// Random values from which the state of a cluster is built.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    nodes: Vec<DrawnNode>,
    classes: Vec<DrawnClass>,
    /// GetCapacity responses by segment and parameter. `None`: an error.
    responses: Vec<Option<(i64, Option<i64>)>>,
    objects: Vec<DrawnObject>,
    pods: Vec<Vec<(usize, i64)>>,
    is_distributed: bool,
    is_tracked: bool,
    zero: bool,
    immediate: bool,
}

pub(crate) fn drawn() -> impl Strategy<Value = Drawn> {
    let values = (0..6_i64, option::of(0..6_i64));
    let switches = any::<[bool; 4]>();
    (
        vec((0..2_usize, 0..2_usize, option::weighted(0.8, 0..4_usize)), 0..5),
        vec(
            (
                prop::bool::weighted(0.8),
                prop::bool::weighted(0.2),
                any::<bool>(),
            ),
            0..4,
        ),
        vec(option::weighted(0.9, values), 18),
        vec(
            (
                0..4_usize,
                0..9_usize,
                0..4_usize,
                option::of(0..6_i64),
                option::of(0..6_i64),
            ),
            0..7,
        ),
        vec(vec((0..4_usize, 1..7_i64), 0..3), 0..4),
        switches,
    )
        .prop_map(|(nodes, classes, responses, objects, pods, switches)| Drawn {
            nodes,
            classes,
            responses,
            objects,
            pods,
            is_distributed: switches[0],
            is_tracked: switches[1] || switches[2],
            zero: switches[2],
            immediate: switches[3],
        })
}

/// Sets of topology keys that a driver may register, by index.
fn keys(of: usize) -> Vec<String> {
    let keys: &[&str] = match of {
        0 => &[ZONE],
        1 => &[RACK],
        2 => &[RACK, ZONE],
        _ => &[],
    };
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// All possible segments: each topology key has one of two values or is absent.
fn segments() -> Vec<Segment> {
    let values = || [None, Some(VALUES[0]), Some(VALUES[1])];
    let pair = |key: &str, value: Option<&str>| value.map(|value| (key.to_owned(), value.to_owned()));
    let both = values()
        .into_iter()
        .flat_map(|zone| values().map(move |rack| (zone, rack)));
    both.map(|(zone, rack)| pair(ZONE, zone).into_iter().chain(pair(RACK, rack)).collect())
        .collect()
}

impl Drawn {
    /// The changes that create the cluster state. Each change concerns a different object, so the order of changes does not matter.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        let driver = CsiDriver {
            storage_capacity: self.is_tracked,
        };
        changes.push(Change::CsiDriver(DRIVER.to_owned(), Some(driver)));
        for (at, (zone, rack, registered)) in self.nodes.iter().enumerate() {
            let name = format!("n{at}");
            let labels = [
                (ZONE, VALUES[*zone]),
                (RACK, VALUES[*rack]),
                ("host", name.as_str()),
            ];
            let node = Node {
                labels: labels
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .into(),
                ..Node::default()
            };
            changes.push(Change::Node(name.clone(), Some(node)));
            let registration = registered.map(|of| Registration {
                topology_keys: keys(of),
                volumes_max: None,
            });
            let csi_node = CsiNode {
                drivers: registration
                    .map(|it| (DRIVER.to_owned(), it))
                    .into_iter()
                    .collect(),
            };
            changes.push(Change::CsiNode(name, Some(csi_node)));
        }
        for (at, (is_own, is_immediate, parameter)) in self.classes.iter().enumerate() {
            let class = StorageClass {
                provisioner: if *is_own { DRIVER } else { OTHER }.to_owned(),
                parameters: parameters(*parameter),
                binding: if *is_immediate {
                    VolumeBindingMode::Immediate
                } else {
                    VolumeBindingMode::WaitForFirstConsumer
                },
                allowed_topologies: Vec::new(),
            };
            changes.push(Change::Class(format!("c{at}"), Some(class)));
        }
        changes.push(Change::Driver(DRIVER.to_owned(), Some(self.driver())));
        for (at, object) in self.objects.iter().enumerate() {
            let key = NamespacedName::new(NAMESPACE, format!("o{at}"));
            changes.push(Change::Object(key, Some(drawn_object(object))));
        }
        changes.extend(
            self.pods
                .iter()
                .enumerate()
                .flat_map(|(at, claims)| pod(at, claims)),
        );
        let publishers = self.publishers().into_iter();
        changes.extend(publishers.map(|(instance, publisher)| Change::Publisher(instance, Some(publisher))));
        changes
    }

    pub(crate) fn world(&self) -> World {
        let mut world = World::default();
        self.changes().into_iter().for_each(|change| world.apply(change));
        world
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = NamespacedName> {
        (0..self.pods.len()).map(|at| NamespacedName::new("default", format!("p{at}")))
    }

    fn driver(&self) -> Driver {
        let mut driver = Driver::default();
        let mut reported = self.responses.iter();
        for segment in segments() {
            for parameter in [false, true] {
                let response = match reported.next().copied().flatten() {
                    None => CapacityResponse::error(),
                    Some((available, maximum)) => {
                        CapacityResponse::Reported(ReportedCapacity { available, maximum })
                    }
                };
                let responses = driver.responses.entry(parameters(parameter)).or_default();
                responses.insert(segment.clone(), response);
            }
        }
        driver
    }

    fn publishers(&self) -> Vec<(Instance, Publisher)> {
        let publisher = |deployment| Publisher {
            deployment,
            zero_capacity_objects: self.zero,
            immediate: self.immediate,
            ..publisher()
        };
        if !self.is_distributed {
            return vec![(central(), publisher(Deployment::Central))];
        }
        let of_node = |(at, (zone, rack, registered)): (usize, &DrawnNode)| {
            let values = [(ZONE, VALUES[*zone]), (RACK, VALUES[*rack])];
            let keys = keys((*registered)?);
            let pairs = values
                .into_iter()
                .filter(|(key, _)| keys.iter().any(|it| it == key));
            let segment = pairs
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect();
            Some((
                of_node(&format!("n{at}")),
                publisher(Deployment::Distributed(segment)),
            ))
        };
        self.nodes.iter().enumerate().filter_map(of_node).collect()
    }
}

fn parameters(is_set: bool) -> std::collections::BTreeMap<String, String> {
    let parameter = is_set.then(|| ("kind".to_owned(), "ssd".to_owned()));
    parameter.into_iter().collect()
}

pub(crate) fn bytes(bytes: i64) -> Quantity {
    bytes.to_string().parse().unwrap()
}

fn drawn_object((class, segment, whose, capacity, maximum): &DrawnObject) -> CapacityObject {
    let manager = [
        "external-provisioner",
        "external-provisioner-n0",
        "another-client",
        "",
    ][*whose];
    let mut labels = json!({"csi.storage.k8s.io/drivername": DRIVER});
    if !manager.is_empty() {
        labels["csi.storage.k8s.io/managed-by"] = manager.into();
    }
    let object = json!({
        "metadata": {"name": "x", "labels": labels}, "storageClassName": format!("c{class}"),
        "nodeTopology": {"matchLabels": segments()[*segment]},
        "capacity": capacity.map(|it| it.to_string()), "maximumVolumeSize": maximum.map(|it| it.to_string()),
    });
    match Change::of_object("csistoragecapacities", object).unwrap() {
        Some(Change::Object(_, Some(object))) => object,
        other => panic!("{other:?} is no capacity object"),
    }
}

fn pod(at: usize, claims: &[(usize, i64)]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut pod = Pod::default();
    for (index, (class, size)) in claims.iter().enumerate() {
        let name = format!("p{at}-{index}");
        let claim = Claim {
            class: format!("c{class}"),
            request: Some(bytes(*size)),
            ..Claim::default()
        };
        changes.push(Change::Claim(NamespacedName::new("default", &name), Some(claim)));
        pod.volumes.push(PodVolume::Claim(name));
    }
    changes.push(Change::Pod(
        NamespacedName::new("default", format!("p{at}")),
        Some(pod),
    ));
    changes
}
