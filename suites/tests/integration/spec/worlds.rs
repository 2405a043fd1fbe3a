//! Compares the capacity objects that external-provisioner left in recorded random clusters with the specification.
//!
//! If the specification leaves a choice, the recorded choice counts as conforming. Choices are counted and limited: otherwise a
//! specification that allows everything would pass.

use std::collections::{BTreeMap, BTreeSet};

use capacity_spec::world::{
    CapacityResponse, Change, Deployment, Driver, Instance, Objects, Publisher, ReportedCapacity,
};
use capacity_spec::{Unspecified, World, objects};
use capacity_types::segment;
use serde_json::{Value, json};

use crate::recorded_worlds::{Node, RecordedCluster, Recording, Step};
use crate::recordings;

/// The label by which a recorded step selects capacity objects to delete.
const MANAGED: &str = "csi.storage.k8s.io/managed-by";

/// Placeholder in recordings for object names that the publisher generated.
const GENERATED: &str = "csisc-";

/// Number of comparisons, and number of comparisons in which the specification leaves a choice.
#[derive(Default)]
struct Tally {
    demands: usize,
    open: usize,
    wrong: Vec<String>,
}

#[test]
fn objects_left_by_external_provisioner_are_demanded_or_allowed() {
    let mut tally = Tally::default();
    for (_, recording) in recordings::read::<Recording>("worlds", "WORLDS", "worlds.json") {
        for recorded in &recording.worlds {
            assert!(recorded.alive, "{} exited early", recorded.name);
            replay(&recording, recorded, &mut tally);
        }
    }
    let (wrong, demands, open) = (tally.wrong.join("\n"), tally.demands, tally.open);
    println!("{demands} demands, of which {open} leave a choice");
    assert_eq!(wrong, "");
    assert!(demands >= 200, "only {demands} demands");
    assert!(open * 4 < demands, "{open} of {demands} demands leave a choice");
}

fn replay(recording: &Recording, recorded: &RecordedCluster, tally: &mut Tally) {
    let mut world = initial_world(recording, recorded);
    let mut expected = BTreeSet::new();
    let moments = std::iter::once(None).chain(recorded.steps.iter().map(Some));
    for (step, after) in moments.zip(&recorded.after) {
        if let Some(step) = step {
            act(recording, &mut world, step);
        }
        let stored = stored(recording, after);
        for (instance, publisher) in &world.publishers {
            let desired_objects = objects::DesiredObjects::of(&world, instance, publisher);
            for desired in desired_objects.all() {
                tally.demands += 1;
                let choice = desired.state.unspecified();
                tally.open += usize::from(choice.is_some());
                if choice != Some(Unspecified::ImmediateClasses) {
                    let parameters = world.classes[desired.class].driver_parameters();
                    let kind = parameters.get("kind").map_or("", String::as_str);
                    expected.insert(format!("{}|{kind}", segment::format(desired.segment)));
                }
            }
        }
        let when = if step.is_none() {
            "at first"
        } else {
            "after the change"
        };
        let violations = objects::judge(&world, &stored);
        tally.wrong.extend(
            violations
                .iter()
                .map(|it| format!("{} {when}: {it}", recorded.name)),
        );
        world.objects = stored;
    }
    // The recorded GetCapacity calls must be exactly those that publishing requires.
    if recorded.get_capacity_calls != expected {
        let (name, calls) = (&recorded.name, &recorded.get_capacity_calls);
        tally
            .wrong
            .push(format!("{name}: GetCapacity calls {calls:?}, not {expected:?}"));
    }
}

fn initial_world(recording: &Recording, recorded: &RecordedCluster) -> World {
    let mut world = World::default();
    for node in &recorded.nodes {
        put_node(recording, &mut world, node);
    }
    for class in &recorded.classes {
        put(&mut world, "storageclasses", with_metadata(class, None));
    }
    for object in &recorded.objects {
        let object = with_metadata(object, Some(&recording.namespace));
        put(&mut world, "csistoragecapacities", object);
    }
    let mut driver = Driver::default();
    for (call, answer) in &recorded.answers {
        let (segment, kind) = call.split_once('|').unwrap();
        let parameters = [("kind".to_owned(), kind.to_owned())].into();
        let answers = driver.responses.entry(parameters).or_default();
        let capacity = ReportedCapacity {
            available: answer.available,
            maximum: answer.maximum,
        };
        answers.insert(
            segment::parse(segment).unwrap(),
            CapacityResponse::Reported(capacity),
        );
    }
    world.drivers.insert(recording.driver.clone(), driver);
    let instance = Instance {
        driver: recording.driver.clone(),
        node: recorded.node.clone(),
    };
    let deployment = match recorded.mode.as_str() {
        "central" => Deployment::Central,
        _ => Deployment::Distributed(recorded.segment.clone().unwrap_or_default()),
    };
    let publisher = Publisher {
        namespace: recording.namespace.clone(),
        deployment,
        observed_label: label_seen(recorded),
        ..Publisher::default()
    };
    world.publishers.insert(instance, publisher);
    world
}

fn act(recording: &Recording, world: &mut World, step: &Step) {
    match step {
        Step::CreateNode(node) => put_node(recording, world, node),
        Step::CreateClass(class) => put(world, "storageclasses", with_metadata(class, None)),
        Step::DeleteClass(name) => world.apply(Change::Class(name.clone(), None)),
        Step::DeleteObjects(all) => {
            assert!(all, "the recording does not list the selected objects");
            world
                .objects
                .retain(|_, object| !object.labels.contains_key(MANAGED));
        }
        Step::Relabel { node, labels } => {
            let mut changed = world.nodes[node].clone();
            changed.labels.extend(labels.clone());
            world.apply(Change::Node(node.clone(), Some(changed)));
        }
        Step::Unregister(node) => {
            let without_driver = json!({"metadata": {"name": node}, "spec": {"drivers": []}});
            put(world, "csinodes", without_driver);
        }
    }
}

fn put_node(recording: &Recording, world: &mut World, node: &Node) {
    let metadata = json!({"name": node.name, "labels": node.labels});
    put(world, "nodes", json!({"metadata": metadata}));
    let registered = node
        .topology_keys
        .iter()
        .map(|keys| json!({"name": recording.driver, "nodeID": node.name, "topologyKeys": keys}));
    let drivers: Vec<Value> = registered.collect();
    put(
        world,
        "csinodes",
        json!({"metadata": {"name": node.name}, "spec": {"drivers": drivers}}),
    );
}

fn put(world: &mut World, resource: &str, object: Value) {
    world.apply(Change::of_object(resource, object).unwrap().unwrap());
}

/// Moves name and labels into `metadata`; recordings contain them at the top level.
fn with_metadata(recorded: &Value, namespace: Option<&str>) -> Value {
    let mut object = recorded.clone();
    object["metadata"] = json!({
        "name": recorded["name"], "namespace": namespace, "labels": recorded["labels"],
        "ownerReferences": recorded["ownerReferences"],
    });
    object
}

/// The recorded capacity objects, with unique names in place of the placeholder for generated names.
fn stored(recording: &Recording, recorded: &[Value]) -> Objects {
    let mut read = World::default();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for row in recorded {
        let mut row = row.clone();
        if row["name"] == GENERATED {
            let what = format!("{}-{}", row["storageClassName"], row["nodeTopology"]);
            let count = seen.entry(what.clone()).or_default();
            *count += 1;
            row["name"] = format!("{GENERATED}{what}-{count}").into();
        }
        put(
            &mut read,
            "csistoragecapacities",
            with_metadata(&row, Some(&recording.namespace)),
        );
    }
    read.objects
}

/// The managed-by label value that the recorded publisher wrote on a node with a long name. The specification leaves the value open.
fn label_seen(recorded: &RecordedCluster) -> Option<String> {
    let mut rows = recorded.after.iter().flatten();
    let own = rows.find(|row| row["name"] == GENERATED)?;
    Some(own["labels"][MANAGED].as_str()?.to_owned())
}
