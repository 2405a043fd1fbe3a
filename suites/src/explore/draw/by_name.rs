//! Capacity objects that other clients write by name: what is legal, what is not, and what the API server has to make of either.

use capacity_types::capacity_api::RESOURCE;
use harness::plan::{NAMESPACE, WORKLOADS};
use serde_json::{Value, json};

use super::super::event::{CAPACITY_KIND, Event, Merge, Replace};
use super::super::world::CLASSES;
use super::Draw;
use super::places::LABEL_MAX;

/// Namespaces: that of the publisher, and another.
const NAMESPACES: [&str; 2] = [NAMESPACE, WORKLOADS];

/// What names end with that are like those of other domains.
const DOMAIN: &str = ".disk.example.com";

/// Figures.
const FIGURES: [&str; 3] = ["1Gi", "7Gi", "20Gi"];

/// Somebody writes an object by its name, or tries to.
pub(super) fn written(draw: &mut Draw) -> Option<Event> {
    let known = draw.dice.any(draw.state.written.values().cloned());
    match known.filter(|_| !draw.dice.one_in(3)) {
        Some(known) => Some(changed(draw, &known)),
        None => Some(Event::Object(created(draw))),
    }
}

/// An object to be created: one in two is not legal, or wants a name.
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

/// A change of an object that there may be.
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

/// An object is replaced: in the version that there is, or in one that is long past; or there is none.
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

/// Where it is: anywhere, nowhere, or on a node.
fn topology(draw: &mut Draw) -> Value {
    // Longer ones are no value of a selector.
    let nodes = draw.state.nodes.keys().filter(|name| name.len() <= LABEL_MAX);
    let node = draw.dice.any(nodes.cloned());
    match (draw.dice.below(3), node) {
        (0, _) => json!({}),
        (1, Some(node)) => json!({"matchLabels": {"kubernetes.io/hostname": node}}),
        _ => Value::Null,
    }
}

/// The version in which the API server has the type best.
fn version(draw: &Draw) -> &'static str {
    match draw.state.minor {
        ..=20 => "storage.k8s.io/v1alpha1",
        21..=23 => "storage.k8s.io/v1beta1",
        _ => "storage.k8s.io/v1",
    }
}
