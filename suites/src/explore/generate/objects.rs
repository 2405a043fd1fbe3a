//! CSIStorageCapacity objects that the publisher under test did not write: objects of an earlier run of the publisher, of other programs,
//! or created manually.

use capacity_types::{DRIVER_LABEL, MANAGED_BY_LABEL};
use std::collections::BTreeMap;

use harness::scenario::{Mode, Role};
use serde_json::{Value, json};

use super::super::cluster::{CLASSES, Capacity, GeneratedCluster, Node, Pool};
use super::super::event::{CapacityEvent, Event};
use super::super::focus::Focus;
use super::super::rng::SeededRng;
use super::super::sizes;
use super::{Generator, topology};

/// Value of the managed-by label of a central publisher, and prefix of the value in a deployment with one publisher per node.
const PUBLISHER: &str = "external-provisioner";

/// Capacity objects that exist before the publisher starts.
pub(super) fn objects_before_start(
    rng: &mut SeededRng,
    focus: &Focus,
    cluster: &GeneratedCluster,
) -> Vec<Capacity> {
    if !focus.has(Role::Publisher) {
        return objects_without_publisher(rng, cluster);
    }
    if rng.one_in(2) {
        return Vec::new();
    }
    let count = rng.between(1, 3);
    let mut objects = Vec::new();
    for _ in 0..count {
        let object = from_earlier_run(rng, cluster);
        // A duplicate is a capacity object with the same content under another name.
        if rng.one_in(4) {
            objects.push(object.clone());
        }
        objects.push(object);
    }
    objects
}

/// Capacity objects of a cluster without a publisher: one for most pairs of class and segment.
fn objects_without_publisher(rng: &mut SeededRng, cluster: &GeneratedCluster) -> Vec<Capacity> {
    let mut objects = Vec::new();
    for segment in topology::segments(&cluster.nodes, &cluster.driver) {
        for class in &cluster.classes {
            if !rng.one_in(6) {
                objects.push(unlabelled_object(rng, &class.name, &segment));
            }
        }
    }
    if rng.one_in(3) {
        let class = (*rng.pick(&CLASSES)).to_owned();
        objects.push(Capacity {
            segment: None,
            topology: topology(rng),
            ..unlabelled_object(rng, &class, "")
        });
    }
    objects
}

/// A capacity object without owner and labels.
fn unlabelled_object(rng: &mut SeededRng, class: &str, segment: &str) -> Capacity {
    Capacity {
        class: class.to_owned(),
        segment: Some(segment.to_owned()),
        topology: None,
        capacity: (!rng.one_in(8)).then(|| sizes::pool_size(rng)),
        maximum: rng.one_in(4).then(|| sizes::pool_size(rng)),
        managed: false,
        labels: BTreeMap::new(),
    }
}

/// A random node selector that is not the segment of a node: all nodes, or an expression; `None` for no selector, which selects no node.
fn topology(rng: &mut SeededRng) -> Option<Value> {
    let expression = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
    match rng.below(5) {
        0 => None,
        1 => Some(json!({})),
        2 => Some(expression("kubernetes.io/hostname", "In", &["n1", "n2"])),
        3 => Some(expression("kubernetes.io/hostname", "NotIn", &["n1"])),
        _ => Some(expression(topology::ZONE, "Exists", &[])),
    }
}

/// A capacity object as an earlier run of the publisher, or another publisher, left it.
fn from_earlier_run(rng: &mut SeededRng, cluster: &GeneratedCluster) -> Capacity {
    let segment = match rng.one_in(5) {
        true => topology::another_segment(&cluster.driver),
        false => segment(rng, cluster.nodes.iter(), cluster),
    };
    let class = match rng.one_in(5) {
        true => "gone".to_owned(),
        false => class(rng, cluster),
    };
    let object = unlabelled_object(rng, &class, &segment);
    let object = with_publisher_labels(rng, cluster, object);
    match rng.below(8) {
        // Correct capacity values, if the segment has a single pool.
        0..=3 => match cluster.backend.get(&segment) {
            Some(Pool::Plain(size)) => Capacity {
                capacity: Some(size.clone()),
                maximum: None,
                ..object
            },
            _ => object,
        },
        // The node selector has a form that no publisher writes.
        4 => Capacity {
            segment: None,
            topology: topology(rng),
            ..object
        },
        _ => object,
    }
}

/// Adds the labels of a random publisher or other program, or no labels.
fn with_publisher_labels(rng: &mut SeededRng, cluster: &GeneratedCluster, object: Capacity) -> Capacity {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    let managed_by = match (rng.below(10), cluster.mode) {
        (0, _) => return object,
        (1, _) => "somebody".to_owned(),
        (2, Mode::Central) | (3..=9, Mode::Distributed) => {
            let nodes = cluster
                .nodes
                .iter()
                .map(|node| format!("{PUBLISHER}-{}", node.name));
            // Node names longer than a label value are left out: how the publisher shortens such a value is not specified.
            let labels = nodes.filter(|label| label.len() <= topology::LABEL_MAX);
            rng.pick_from_iter(labels)
                .unwrap_or_else(|| format!("{PUBLISHER}-n9"))
        }
        (2, Mode::Distributed) => PUBLISHER.to_owned(),
        (_, Mode::Central) => {
            return Capacity {
                managed: true,
                ..object
            };
        }
        (_, Mode::Distributed) => "external-provisioner-n9".to_owned(),
    };
    let driver = if rng.one_in(10) {
        "tape.example.com"
    } else {
        cluster.driver.name.as_str()
    };
    labels.insert(DRIVER_LABEL.to_owned(), driver.to_owned());
    labels.insert(MANAGED_BY_LABEL.to_owned(), managed_by);
    Capacity { labels, ..object }
}

/// A random segment of these nodes; if no node has a segment, the name of a segment that may not exist.
pub(super) fn segment<'n>(
    rng: &mut SeededRng,
    nodes: impl Iterator<Item = &'n Node>,
    cluster: &GeneratedCluster,
) -> String {
    let segments = topology::segments(nodes, &cluster.driver);
    rng.pick_from_iter(segments)
        .unwrap_or_else(|| topology::another_segment(&cluster.driver))
}

fn class(rng: &mut SeededRng, cluster: &GeneratedCluster) -> String {
    let classes = cluster.classes.iter().map(|class| class.name.as_str());
    rng.pick_from_iter(classes).unwrap_or("fast").to_owned()
}

pub(super) fn object(generator: &mut Generator, class: &str, segment: &str) -> Capacity {
    let object = unlabelled_object(&mut generator.rng, class, segment);
    match generator.focus.has(Role::Publisher) {
        true => with_publisher_labels(&mut generator.rng, &generator.cluster, object),
        false => object,
    }
}

/// Another client creates a capacity object.
pub(super) fn create_capacity_object(generator: &mut Generator) -> Option<Event> {
    let (class, segment) = (generator.class()?, generator.segment());
    let mut object = unlabelled_object(&mut generator.rng, &class, &segment);
    if generator.rng.one_in(4) {
        object = Capacity {
            segment: None,
            topology: topology(&mut generator.rng),
            ..object
        };
    }
    if generator.focus.has(Role::Publisher) {
        object = with_publisher_labels(&mut generator.rng, &generator.cluster, object);
    }
    Some(Event::Capacity(CapacityEvent::Create(object)))
}

/// Another client updates a capacity object, or changes its owner.
pub(super) fn update_capacity_object(generator: &mut Generator) -> Option<Event> {
    let (class, segment) = (generator.class()?, generator.segment());
    let size = sizes::size(&mut generator.rng);
    // The API server accepts any quantity; sizes with an added or subtracted byte are no quantities.
    let size = if size.contains(['+', '-']) {
        "7Gi".to_owned()
    } else {
        size
    };
    let labels = |value: Value| json!({"metadata": {"labels": {MANAGED_BY_LABEL: value}}});
    let merge = match generator.rng.below(11) {
        0..=4 => json!({"capacity": size}),
        5..=6 => json!({"maximumVolumeSize": size}),
        7 => json!({"capacity": null}),
        8 => labels("somebody".into()),
        9 => json!({"metadata": {"ownerReferences": [another_owner()]}}),
        _ => labels(Value::Null),
    };
    Some(Event::Capacity(CapacityEvent::Edit {
        class,
        segment,
        merge,
    }))
}

/// A controller owner reference to a type that this API server does not serve, so that the existence of the owner cannot be checked.
fn another_owner() -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "StorageOperator",
        "name": "storage",
        "uid": "5e0ea1f6-0c3b-4d4e-8a9b-000000000001",
        "controller": true,
    })
}

/// Another client deletes a capacity object.
pub(super) fn delete_capacity_object(generator: &mut Generator) -> Option<Event> {
    let (class, segment) = (generator.class()?, generator.segment());
    Some(Event::Capacity(CapacityEvent::Delete { class, segment }))
}
