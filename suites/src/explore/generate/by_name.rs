//! Valid and invalid writes of capacity objects by clients other than the publisher, to test the validation by the API server.

use capacity_types::capacity_api::RESOURCE;
use harness::plan::{NAMESPACE, WORKLOADS};
use serde_json::{Value, json};

use super::super::cluster::CLASSES;
use super::super::event::{CAPACITY_KIND, CapacityPatch, CapacityReplacement, Event};
use super::Generator;
use super::topology::LABEL_MAX;

/// Namespaces of objects: the namespace of the publisher, and the namespace of workloads.
const NAMESPACES: [&str; 2] = [NAMESPACE, WORKLOADS];

/// Suffix of generated names that contain dots.
const DOMAIN: &str = ".disk.example.com";

/// Values of the fields `capacity` and `maximumVolumeSize`.
const SIZES: [&str; 3] = ["1Gi", "7Gi", "20Gi"];

/// Generates a write of a capacity object by name, as another client. The API server may reject the write.
pub(super) fn write_by_name(generator: &mut Generator) -> Option<Event> {
    let known = generator
        .rng
        .pick_from_iter(generator.state.written.values().cloned());
    match known.filter(|_| !generator.rng.one_in(3)) {
        Some(known) => Some(patch_or_replacement(generator, &known)),
        None => Some(Event::Object(object_to_create(generator))),
    }
}

/// A capacity object to create. Every second object is invalid, or has a generateName.
fn object_to_create(generator: &mut Generator) -> Value {
    let name = generator.name('x');
    let mut object = object(generator, &name);
    match generator.rng.below(8) {
        0 => object["metadata"]["name"] = format!("Bad_{name}").into(),
        1 => object["storageClassName"] = (*generator.rng.pick(&["", "<fallback>"])).into(),
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

/// A patch or replacement of a capacity object that may exist.
fn patch_or_replacement(generator: &mut Generator, known: &Value) -> Event {
    let size = *generator.rng.pick(&SIZES);
    let merge = match generator.rng.below(8) {
        0 => json!({"storageClassName": *generator.rng.pick(&CLASSES)}),
        1 => json!({"nodeTopology": topology(generator)}),
        2 => json!({"maximumVolumeSize": size}),
        3 => json!({"capacity": null}),
        4..=5 => json!({"capacity": size}),
        _ => return replacement(generator, known),
    };
    let metadata = &known["metadata"];
    let word = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    Event::Merge(CapacityPatch {
        resource: RESOURCE.to_owned(),
        namespace: word("namespace"),
        name: word("name"),
        merge,
    })
}

/// A replacement of a capacity object that may not exist, with the current or an outdated resourceVersion.
fn replacement(generator: &mut Generator, known: &Value) -> Event {
    let mut object = known.clone();
    object["apiVersion"] = version(generator).into();
    object["capacity"] = (*generator.rng.pick(&SIZES)).into();
    if generator.rng.one_in(3) {
        object["metadata"]["name"] = "nobody".into();
    }
    let resource_version = generator.rng.one_in(3).then(|| "1".to_owned());
    Event::Replace(CapacityReplacement {
        object,
        resource_version,
    })
}

fn object(generator: &mut Generator, name: &str) -> Value {
    json!({
        "apiVersion": version(generator),
        "kind": CAPACITY_KIND,
        "metadata": {"name": name, "namespace": *generator.rng.pick(&NAMESPACES)},
        "storageClassName": *generator.rng.pick(&CLASSES),
        "nodeTopology": topology(generator),
        "capacity": *generator.rng.pick(&SIZES),
    })
}

/// A node topology that selects all nodes, no node, or one node.
fn topology(generator: &mut Generator) -> Value {
    // A node name longer than LABEL_MAX is invalid as a label value in a selector.
    let nodes = generator
        .state
        .nodes
        .keys()
        .filter(|name| name.len() <= LABEL_MAX);
    let node = generator.rng.pick_from_iter(nodes.cloned());
    match (generator.rng.below(3), node) {
        (0, _) => json!({}),
        (1, Some(node)) => json!({"matchLabels": {"kubernetes.io/hostname": node}}),
        _ => Value::Null,
    }
}

/// The newest API version of CSIStorageCapacity that the API server serves.
fn version(generator: &Generator) -> &'static str {
    match generator.state.minor {
        ..=20 => "storage.k8s.io/v1alpha1",
        21..=23 => "storage.k8s.io/v1beta1",
        _ => "storage.k8s.io/v1",
    }
}
