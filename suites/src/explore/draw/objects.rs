//! CSIStorageCapacity objects that the publisher under test did not write: from an earlier run of it, from other programs, or by hand.

use capacity_types::{DRIVER_LABEL, MANAGED_BY_LABEL};
use std::collections::BTreeMap;

use harness::scenario::{Mode, Role};
use serde_json::{Value, json};

use super::super::dice::Dice;
use super::super::event::{CapacityEvent, Event};
use super::super::focus::Focus;
use super::super::sizes;
use super::super::world::{CLASSES, Capacity, Node, Pool, World};
use super::{Draw, places};

/// Value of the managed-by label, and its prefix in a distributed deployment, with one publisher per node.
const PUBLISHER: &str = "external-provisioner";

/// Objects that exist before the publisher starts.
pub(super) fn prior(dice: &mut Dice, focus: &Focus, world: &World) -> Vec<Capacity> {
    if !focus.has(Role::Publisher) {
        return by_hand(dice, world);
    }
    if dice.one_in(2) {
        return Vec::new();
    }
    let count = dice.between(1, 3);
    let mut objects = Vec::new();
    for _ in 0..count {
        let object = from_before(dice, world);
        // A duplicate has another name and the same content.
        if dice.one_in(4) {
            objects.push(object.clone());
        }
        objects.push(object);
    }
    objects
}

/// Without a publisher: objects for most classes and segments.
fn by_hand(dice: &mut Dice, world: &World) -> Vec<Capacity> {
    let mut objects = Vec::new();
    for segment in places::segments(&world.nodes, &world.driver) {
        for class in &world.classes {
            if !dice.one_in(6) {
                objects.push(offer(dice, &class.name, &segment));
            }
        }
    }
    if dice.one_in(3) {
        let class = (*dice.pick(&CLASSES)).to_owned();
        objects.push(Capacity {
            segment: None,
            topology: topology(dice),
            ..offer(dice, &class, "")
        });
    }
    objects
}

/// An object without owner and labels.
fn offer(dice: &mut Dice, class: &str, segment: &str) -> Capacity {
    Capacity {
        class: class.to_owned(),
        segment: Some(segment.to_owned()),
        topology: None,
        capacity: (!dice.one_in(8)).then(|| sizes::room(dice)),
        maximum: dice.one_in(4).then(|| sizes::room(dice)),
        managed: false,
        labels: BTreeMap::new(),
    }
}

/// A selector that matches no segment; `None`: no node.
fn topology(dice: &mut Dice) -> Option<Value> {
    let expression = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
    match dice.below(5) {
        0 => None,
        1 => Some(json!({})),
        2 => Some(expression("kubernetes.io/hostname", "In", &["n1", "n2"])),
        3 => Some(expression("kubernetes.io/hostname", "NotIn", &["n1"])),
        _ => Some(expression(places::ZONE, "Exists", &[])),
    }
}

/// An object that an earlier run of the publisher, or a similar program, wrote.
fn from_before(dice: &mut Dice, world: &World) -> Capacity {
    let segment = match dice.one_in(5) {
        true => places::elsewhere(&world.driver),
        false => segment(dice, world.nodes.iter(), world),
    };
    let class = match dice.one_in(5) {
        true => "gone".to_owned(),
        false => class(dice, world),
    };
    let object = offer(dice, &class, &segment);
    let object = with_owner(dice, world, object);
    match dice.below(8) {
        // Its values are correct.
        0..=3 => match world.backend.get(&segment) {
            Some(Pool::Plain(size)) => Capacity {
                capacity: Some(size.clone()),
                maximum: None,
                ..object
            },
            _ => object,
        },
        // Its selector has a form that no publisher writes.
        4 => Capacity {
            segment: None,
            topology: topology(dice),
            ..object
        },
        _ => object,
    }
}

/// Adds the owner and labels of a random publisher, or none.
fn with_owner(dice: &mut Dice, world: &World, object: Capacity) -> Capacity {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    let managed_by = match (dice.below(10), world.mode) {
        (0, _) => return object,
        (1, _) => "somebody".to_owned(),
        (2, Mode::Central) | (3..=9, Mode::Distributed) => {
            let nodes = world
                .nodes
                .iter()
                .map(|node| format!("{PUBLISHER}-{}", node.name));
            // Longer values are encoded in a way that only the publisher knows.
            let labels = nodes.filter(|label| label.len() <= places::LABEL_MAX);
            dice.any(labels).unwrap_or_else(|| format!("{PUBLISHER}-n9"))
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
    let driver = if dice.one_in(10) {
        "tape.example.com"
    } else {
        world.driver.name.as_str()
    };
    labels.insert(DRIVER_LABEL.to_owned(), driver.to_owned());
    labels.insert(MANAGED_BY_LABEL.to_owned(), managed_by);
    Capacity { labels, ..object }
}

/// A segment of these nodes.
pub(super) fn segment<'n>(dice: &mut Dice, nodes: impl Iterator<Item = &'n Node>, world: &World) -> String {
    let segments = places::segments(nodes, &world.driver);
    dice.any(segments)
        .unwrap_or_else(|| places::elsewhere(&world.driver))
}

fn class(dice: &mut Dice, world: &World) -> String {
    let classes = world.classes.iter().map(|class| class.name.as_str());
    dice.any(classes).unwrap_or("fast").to_owned()
}

/// An object of a class and a segment.
pub(super) fn at(draw: &mut Draw, class: &str, segment: &str) -> Capacity {
    let object = offer(&mut draw.dice, class, segment);
    match draw.focus.has(Role::Publisher) {
        true => with_owner(&mut draw.dice, &draw.world, object),
        false => object,
    }
}

/// Another client creates an object.
pub(super) fn created(draw: &mut Draw) -> Option<Event> {
    let (class, segment) = (draw.class()?, draw.segment());
    let mut object = offer(&mut draw.dice, &class, &segment);
    if draw.dice.one_in(4) {
        object = Capacity {
            segment: None,
            topology: topology(&mut draw.dice),
            ..object
        };
    }
    if draw.focus.has(Role::Publisher) {
        object = with_owner(&mut draw.dice, &draw.world, object);
    }
    Some(Event::Capacity(CapacityEvent::Create(object)))
}

/// Another client updates an object, or changes its owner.
pub(super) fn edited(draw: &mut Draw) -> Option<Event> {
    let (class, segment) = (draw.class()?, draw.segment());
    let size = sizes::size(&mut draw.dice);
    // The API server accepts any quantity; sizes with an added or subtracted byte are no quantities.
    let size = if size.contains(['+', '-']) {
        "7Gi".to_owned()
    } else {
        size
    };
    let labels = |value: Value| json!({"metadata": {"labels": {MANAGED_BY_LABEL: value}}});
    let merge = match draw.dice.below(11) {
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

/// A controller owner reference of a type that this API server does not serve, so its existence cannot be checked.
fn another_owner() -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "StorageOperator",
        "name": "storage",
        "uid": "5e0ea1f6-0c3b-4d4e-8a9b-000000000001",
        "controller": true,
    })
}

/// Another client deletes an object.
pub(super) fn deleted(draw: &mut Draw) -> Option<Event> {
    let (class, segment) = (draw.class()?, draw.segment());
    Some(Event::Capacity(CapacityEvent::Delete { class, segment }))
}
