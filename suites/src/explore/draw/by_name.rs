//! Writes of capacity objects by name from other clients, valid and invalid, to test the API server's validation.

use capacity_types::capacity_api::RESOURCE;
use harness::plan::{NAMESPACE, WORKLOADS};
use serde_json::{Value, json};

use super::super::event::{CAPACITY_KIND, Event, Merge, Replace};
use super::super::world::CLASSES;
use super::Draw;
use super::places::LABEL_MAX;

/// Namespaces: the publisher's, and another one.
const NAMESPACES: [&str; 2] = [NAMESPACE, WORKLOADS];

/// Suffix for names that look like those of other domains.
const DOMAIN: &str = ".disk.example.com";

/// Capacity values.
const FIGURES: [&str; 3] = ["1Gi", "7Gi", "20Gi"];

/// Another client writes an object by name, or tries to.
pub(super) fn written(draw: &mut Draw) -> Option<Event> {
    let known = draw.dice.any(draw.state.written.values().cloned());
    match known.filter(|_| !draw.dice.one_in(3)) {
        Some(known) => Some(changed(draw, &known)),
        None => Some(Event::Object(created(draw))),
    }
}

/// An object to create: every second one is invalid, or uses generateName.
fn created(draw: &mut Draw) -> Value {
    let name = draw.name('x');
    let mut object = object(draw, &name);
    match draw.dice.below(8) {
        0 => object["metadata"]["name"] = format!("Bad_{name}").into(),
        1 => object["storageClassName"] = (*draw.dice.pick(&["", "<fallback>"])).into(),
        2 => object["capacity"] = "-1Gi".into(),
        3 => {
            object["metadata"] = json!({
                "generateName": "csisc-",
                "namespace": object["metadata"]["namespace"],
            });
        }
        4 => drop(object.as_object_mut().map(|fields| fields.remove("capacity"))),
        5..=6 => object["metadata"]["name"] = format!("{name}{DOMAIN}").into(),
        _ => {}
    }
    object
}

/// A patch of an object that may exist.
fn changed(draw: &mut Draw, known: &Value) -> Event {
    let figure = *draw.dice.pick(&FIGURES);
    let merge = match draw.dice.below(8) {
        0 => json!({"storageClassName": *draw.dice.pick(&CLASSES)}),
        1 => json!({"nodeTopology": topology(draw)}),
        2 => json!({"maximumVolumeSize": figure}),
        3 => json!({"capacity": null}),
        4..=5 => json!({"capacity": figure}),
        _ => return replaced(draw, known),
    };
    let metadata = &known["metadata"];
    let word = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    Event::Merge(Merge {
        resource: RESOURCE.to_owned(),
        namespace: word("namespace"),
        name: word("name"),
        merge,
    })
}

/// A replacement with the current or an outdated resourceVersion, of an object that may not exist.
fn replaced(draw: &mut Draw, known: &Value) -> Event {
    let mut object = known.clone();
    object["apiVersion"] = version(draw).into();
    object["capacity"] = (*draw.dice.pick(&FIGURES)).into();
    if draw.dice.one_in(3) {
        object["metadata"]["name"] = "nobody".into();
    }
    let resource_version = draw.dice.one_in(3).then(|| "1".to_owned());
    Event::Replace(Replace {
        object,
        resource_version,
    })
}

fn object(draw: &mut Draw, name: &str) -> Value {
    json!({
        "apiVersion": version(draw),
        "kind": CAPACITY_KIND,
        "metadata": {"name": name, "namespace": *draw.dice.pick(&NAMESPACES)},
        "storageClassName": *draw.dice.pick(&CLASSES),
        "nodeTopology": topology(draw),
        "capacity": *draw.dice.pick(&FIGURES),
    })
}

/// The node topology: all nodes, none, or one node.
fn topology(draw: &mut Draw) -> Value {
    // Longer names are invalid as selector values.
    let nodes = draw.state.nodes.keys().filter(|name| name.len() <= LABEL_MAX);
    let node = draw.dice.any(nodes.cloned());
    match (draw.dice.below(3), node) {
        (0, _) => json!({}),
        (1, Some(node)) => json!({"matchLabels": {"kubernetes.io/hostname": node}}),
        _ => Value::Null,
    }
}

/// The newest API version of CSIStorageCapacity that the API server serves.
fn version(draw: &Draw) -> &'static str {
    match draw.state.minor {
        ..=20 => "storage.k8s.io/v1alpha1",
        21..=23 => "storage.k8s.io/v1beta1",
        _ => "storage.k8s.io/v1",
    }
}
