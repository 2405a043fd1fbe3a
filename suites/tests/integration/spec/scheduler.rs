//! Compares the reference scheduler with the specification in small random clusters. The two share no logic, so a difference is a bug in
//! one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capacity_scheduler::cycle;
use capacity_scheduler::objects::{Object, Pod};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::shape::{Shape, ShapePoint as Point};
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;
use capacity_spec::World;
use capacity_spec::placement::{Decision, IndexedWorld};
use capacity_spec::world::{Change, NamespacedName, ShapePoint};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The API objects of a cluster, by resource; the last object is the pod.
type Objects = Vec<(&'static str, Value)>;

fn label() -> impl Strategy<Value = (&'static str, &'static str)> {
    (
        prop::sample::select(vec!["zone", "disk"]),
        prop::sample::select(vec!["a", "b"]),
    )
}

fn labels() -> impl Strategy<Value = BTreeMap<&'static str, &'static str>> {
    vec(label(), 0..3).prop_map(|pairs| pairs.into_iter().collect())
}

fn expression() -> impl Strategy<Value = Value> {
    let operators = prop::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist"]);
    (label(), operators).prop_map(|((key, value), operator)| match operator {
        "In" | "NotIn" => json!({"key": key, "operator": operator, "values": [value]}),
        _ => json!({"key": key, "operator": operator}),
    })
}

fn topology() -> impl Strategy<Value = Value> {
    let selector = (labels(), vec(expression(), 0..2));
    let selector = selector.prop_map(|(labels, all)| json!({"matchLabels": labels, "matchExpressions": all}));
    prop_oneof![1 => Just(Value::Null), 1 => Just(json!({})), 6 => selector]
}

fn size() -> impl Strategy<Value = Value> {
    let sizes = ["0", "1", "5", "9999m", "10", "10001m", "11", "1Ki", "1k"];
    prop::sample::select(sizes.map(Value::from).to_vec())
}

fn capacity() -> impl Strategy<Value = Value> {
    prop_oneof![1 => Just(Value::Null), 4 => size()]
}

fn class_name() -> impl Strategy<Value = String> {
    (0..3_usize).prop_map(|class| format!("c{class}"))
}

fn nodes() -> impl Strategy<Value = Objects> {
    let node = (labels(), prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    vec(node, 1..5).prop_map(|nodes| {
        let all = nodes.into_iter().enumerate();
        let written = all.map(|(at, (labels, unschedulable, is_tainted))| {
            let effect = json!([{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]);
            let taints = if is_tainted { effect } else { json!([]) };
            let metadata = json!({"name": format!("n{at}"), "labels": labels});
            let spec = json!({"unschedulable": unschedulable, "taints": taints});
            ("nodes", json!({"metadata": metadata, "spec": spec}))
        });
        written.collect()
    })
}

fn classes() -> impl Strategy<Value = Objects> {
    let provisioners = vec![
        "on.example.com",
        "off.example.com",
        "gone.example.com",
        "kubernetes.io/no-provisioner",
    ];
    let allowed = prop_oneof![
        3 => Just(Value::Null),
        1 => label().prop_map(|(key, value)| json!([{"matchLabelExpressions": [{"key": key, "values": [value]}]}])),
    ];
    let class = (
        prop::sample::select(provisioners),
        prop::bool::weighted(0.9),
        allowed,
    );
    vec(class, 3).prop_map(|classes| {
        let all = classes.into_iter().enumerate();
        let mut written: Objects = all
            .map(|(at, (provisioner, waits, allowed))| {
                let binding = if waits {
                    "WaitForFirstConsumer"
                } else {
                    "Immediate"
                };
                let class = json!({
                    "metadata": {"name": format!("c{at}")}, "provisioner": provisioner,
                    "volumeBindingMode": binding, "allowedTopologies": allowed,
                });
                ("storageclasses", class)
            })
            .collect();
        for (name, is_tracked) in [("on.example.com", true), ("off.example.com", false)] {
            let driver = json!({"metadata": {"name": name}, "spec": {"storageCapacity": is_tracked}});
            written.push(("csidrivers", driver));
        }
        written
    })
}

fn capacities() -> impl Strategy<Value = Objects> {
    vec((class_name(), topology(), capacity(), capacity()), 0..8).prop_map(|capacities| {
        let all = capacities.into_iter().enumerate();
        let written = all.map(|(at, (class, topology, capacity, maximum))| {
            let object = json!({
                "metadata": {"name": format!("o{at}"), "namespace": "csi"}, "storageClassName": class,
                "nodeTopology": topology, "capacity": capacity, "maximumVolumeSize": maximum,
            });
            ("csistoragecapacities", object)
        });
        written.collect()
    })
}

fn volumes() -> impl Strategy<Value = Objects> {
    let affinity = prop::option::of(expression());
    let claim_number = prop::option::weighted(0.3, 0..3_usize);
    vec((class_name(), size(), affinity, claim_number), 0..3).prop_map(|volumes| {
        let all = volumes.into_iter().enumerate();
        let written = all.map(|(at, (class, size, affinity, claim_number))| {
            let terms = affinity.map(|it| json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [it]}]}}));
            let claim = claim_number.map(|it| json!({"namespace": "default", "name": format!("claim-{it}")}));
            let volume = json!({
                "metadata": {"name": format!("v{at}")}, "status": {"phase": "Available"},
                "spec": {
                    "capacity": {"storage": size}, "storageClassName": class, "accessModes": ["ReadWriteOnce"],
                    "nodeAffinity": terms, "claimRef": claim,
                },
            });
            ("persistentvolumes", volume)
        });
        written.collect()
    })
}

/// Generates a pod with up to three claims: of any class, with or without a selected node, bound or not.
fn pod() -> impl Strategy<Value = Objects> {
    let chosen = prop::option::weighted(0.1, 0..3_usize);
    let bound = prop::option::weighted(0.1, 0..3_usize);
    vec((class_name(), size(), chosen, bound), 0..4).prop_map(|claims| {
        let mut written = Objects::new();
        let mut mounted = Vec::new();
        for (at, (class, size, chosen, bound)) in claims.into_iter().enumerate() {
            let name = format!("claim-{at}");
            let mut annotations = json!({});
            if let Some(node) = chosen {
                annotations["volume.kubernetes.io/selected-node"] = format!("n{node}").into();
            }
            if bound.is_some() {
                annotations["pv.kubernetes.io/bind-completed"] = "yes".into();
            }
            let claim = json!({
                "metadata": {"name": name, "namespace": "default", "annotations": annotations},
                "spec": {
                    "storageClassName": class, "resources": {"requests": {"storage": size}},
                    "accessModes": ["ReadWriteOnce"], "volumeName": bound.map(|volume| format!("v{volume}")),
                },
            });
            written.push(("persistentvolumeclaims", claim));
            mounted.push(json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
        }
        let spec = json!({"containers": [], "volumes": mounted});
        let metadata = json!({"name": "pod", "namespace": "default"});
        written.push(("pods", json!({"metadata": metadata, "spec": spec})));
        written
    })
}

fn objects() -> impl Strategy<Value = Objects> {
    let parts = (nodes(), classes(), capacities(), volumes(), pod());
    parts.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].concat())
}

fn world(objects: &Objects) -> World {
    let mut world = World::default();
    for (resource, object) in objects {
        world.apply(Change::of_object(resource, object).unwrap().unwrap());
    }
    world
}

fn put<T: Object>(collection: &mut impl Collection<T>, object: &Value)
where
    T::Api: DeserializeOwned,
{
    let api = serde_json::from_value(object.clone()).unwrap();
    collection.put(Arc::new(T::read(&api).unwrap()));
}

fn snapshot(objects: &Objects) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (resource, object) in objects {
        match *resource {
            "nodes" => put(&mut snapshot.nodes, object),
            "storageclasses" => put(&mut snapshot.classes, object),
            "csidrivers" => put(&mut snapshot.drivers, object),
            "csistoragecapacities" => put(&mut snapshot.capacities, object),
            "persistentvolumes" => put(&mut snapshot.volumes, object),
            "persistentvolumeclaims" => put(&mut snapshot.claims, object),
            _ => {}
        }
    }
    snapshot
}

/// The feasible nodes according to the reference scheduler, with their scores; empty if the pod cannot be scheduled.
fn reference_scores(objects: &Objects, rules: &Rules) -> BTreeMap<String, i64> {
    let (_, pod) = objects.last().unwrap();
    let pod = Pod::read(&serde_json::from_value(pod.clone()).unwrap()).unwrap();
    // An error means that the pod cannot be scheduled, for example because a claim is not ready.
    let Ok(assessment) = cycle::assess(&snapshot(objects), rules, &pod) else {
        return BTreeMap::new();
    };
    let feasible = assessment.feasible.into_iter();
    feasible.map(|it| (it.node.name().to_owned(), it.score)).collect()
}

proptest! {
    #[test]
    fn the_reference_scheduler_conforms_to_the_specification(
        objects in objects(),
        shape in prop::option::of((0..=10_i64, 0..=10_i64, 0..=10_i64)),
    ) {
        let mut world = world(&objects);
        world.scheduler.scoring = Some(true);
        let mut rules = Rules { shape: Some(Shape::new(&[]).unwrap()), ..Rules::default() };
        if let Some((empty, half, full)) = shape {
            let points = [(0, empty), (50, half), (100, full)];
            let point = |(utilization, score)| Point { utilization, score };
            rules.shape = Some(Shape::new(&points.map(point)).unwrap());
            let point = |(utilization, score)| ShapePoint { utilization, score };
            world.scheduler.shape = Some(points.map(point).to_vec());
        }
        let decision: Decision = IndexedWorld::new(&world).decide(&NamespacedName::new("default", "pod"));
        let found = reference_scores(&objects, &rules);
        let feasible: BTreeSet<&str> = decision.feasible().collect();
        prop_assert_eq!(&feasible, &found.keys().map(String::as_str).collect(), "{:?}", decision);
        for (node, scores) in decision.scores().filter(|_| feasible.len() > 1) {
            prop_assert!(scores.contains(&found[node]), "{}: {} is none of {:?}", node, found[node], scores);
        }
    }
}
