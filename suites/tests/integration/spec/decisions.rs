//! Checks that the specification allows the recorded decisions of kube-scheduler in small random clusters: feasible nodes, reasons and
//! scores.

use std::collections::BTreeMap;

use capacity_spec::World;
use capacity_spec::placement::{Decision, IndexedWorld, NodeVerdict, Reason};
use capacity_spec::world::{Change, NamespacedName, ShapePoint};
use serde_json::{Value, json};

use crate::decisions::array;
use crate::recordings;

const HOST: &str = "kubernetes.io/hostname";

#[derive(Default)]
struct Tally {
    total: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn check(&mut self, holds: bool, text: impl Fn() -> String) {
        self.total += 1;
        if !holds {
            self.wrong.push(text());
        }
    }

    fn end(&self, least: usize) {
        println!("{} decisions", self.total);
        assert_eq!(self.wrong.join("\n"), "");
        assert!(self.total >= least, "only {} decisions", self.total);
    }
}

#[test]
fn feasible_nodes_match_kube_scheduler() {
    let mut tally = Tally::default();
    for (_, file) in recordings::read::<Value>("decisions", "DECISIONS", "filter.json") {
        for case in array(&file["cases"]) {
            let mut world = World::default();
            for node in array(&file["world"]["nodes"]) {
                put(&mut world, "nodes", json!({"metadata": node}));
            }
            for (name, flag) in file["world"]["drivers"].as_object().into_iter().flatten() {
                put_driver(&mut world, name, flag);
            }
            put_class(&mut world, case);
            for (index, capacity) in array(&case["capacities"]).iter().enumerate() {
                put_capacity(&mut world, index, capacity, capacity.get("nodeTopology"));
            }
            let sizes = array(&case["claims"]).iter();
            let pod = put_pod(&mut world, sizes.map(|size| (&case["name"], size)));
            let Decision::Nodes(nodes) = IndexedWorld::new(&world).decide(&pod) else {
                panic!("{} is refused", case["name"]);
            };
            for (node, recorded) in case["verdict"].as_object().into_iter().flatten() {
                let found = verdict(&nodes[node]);
                let text = || {
                    format!(
                        "{} on {node}: recorded {recorded}, found {:?}",
                        case["name"], nodes[node]
                    )
                };
                tally.check(recorded.as_str() == found, text);
            }
        }
    }
    tally.end(2000);
}

/// Converts the specification's verdict on a node to the wording of the recordings. The class is checked before the capacity.
fn verdict(verdict: &NodeVerdict) -> Option<&'static str> {
    let reasons = match verdict {
        NodeVerdict::Feasible(_) => return Some("fits"),
        NodeVerdict::Infeasible(reasons) => reasons,
    };
    let is = |it: fn(&Reason) -> bool| reasons.iter().all(it);
    if is(|it| matches!(it, Reason::NotEnoughCapacity(_))) {
        return Some("no capacity");
    }
    is(|it| matches!(it, Reason::NotAllowed(_) | Reason::NoProvisioner(_))).then_some("no volume or topology")
}

#[test]
fn scores_match_kube_scheduler() {
    let mut tally = Tally::default();
    for (_, file) in recordings::read::<Value>("decisions", "DECISIONS", "score.json") {
        for case in array(&file["cases"]) {
            let world = world_of_scores(&file, case);
            let pod = NamespacedName::new("default", "pod");
            let decision = IndexedWorld::new(&world).decide(&pod);
            let scores: BTreeMap<&str, Vec<i64>> = decision
                .scores()
                .map(|(node, scores)| (node, scores.iter().copied().collect()))
                .collect();
            let recorded: BTreeMap<&str, Vec<i64>> = case["scores"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(node, score)| (node.as_str(), vec![score.as_i64().unwrap()]))
                .collect();
            // kube-scheduler does not score a node that is the only feasible one.
            let is_scored = scores.len() > 1;
            let holds = if is_scored {
                scores == recorded
            } else {
                recorded.is_empty()
            };
            let text = || format!("{}: recorded {recorded:?}, found {scores:?}", case["name"]);
            tally.check(holds, text);
        }
    }
    tally.end(200);
}

fn world_of_scores(file: &Value, case: &Value) -> World {
    let mut world = World::default();
    for node in array(&file["nodes"]) {
        put(
            &mut world,
            "nodes",
            json!({"metadata": {"name": node, "labels": {HOST: node}}}),
        );
    }
    put_driver(&mut world, "on.example.com", &json!(true));
    for class in array(&case["classes"]) {
        put_class(
            &mut world,
            &json!({"name": class, "provisioner": "on.example.com"}),
        );
    }
    for (index, capacity) in array(&case["capacities"]).iter().enumerate() {
        let topology = json!({"matchLabels": {HOST: capacity["node"]}});
        put_capacity(&mut world, index, capacity, Some(&topology));
    }
    for (index, volume) in array(&case["volumes"]).iter().enumerate() {
        put_volume(&mut world, index, volume);
    }
    let claims = array(&case["claims"]).iter();
    put_pod(&mut world, claims.map(|claim| (&claim["class"], &claim["size"])));
    world.scheduler.scoring = Some(true);
    let shape = &file["shapes"][case["shape"].as_str().unwrap()];
    let number = |value: &Value| value.as_i64().unwrap();
    let points = array(shape).iter().map(|point| ShapePoint {
        utilization: number(&point["utilization"]),
        score: number(&point["score"]),
    });
    world.scheduler.shape = Some(points.collect());
    world
}

fn put(world: &mut World, resource: &str, object: Value) {
    world.apply(Change::of_object(resource, object).unwrap().unwrap());
}

fn put_driver(world: &mut World, name: &str, flag: &Value) {
    let driver = json!({"metadata": {"name": name}, "spec": {"storageCapacity": flag}});
    put(world, "csidrivers", driver);
}

fn put_class(world: &mut World, case: &Value) {
    let class = json!({
        "metadata": {"name": case["name"]}, "provisioner": case["provisioner"],
        "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": case["allowedTopologies"],
    });
    put(world, "storageclasses", class);
}

fn put_capacity(world: &mut World, index: usize, recorded: &Value, topology: Option<&Value>) {
    let mut object = json!({
        "metadata": {"name": format!("capacity-{index}"), "namespace": recorded["namespace"]},
        "storageClassName": recorded["class"],
        "capacity": recorded["capacity"], "maximumVolumeSize": recorded["maximumVolumeSize"],
    });
    if let Some(topology) = topology {
        object["nodeTopology"] = topology.clone();
    }
    put(world, "csistoragecapacities", object);
}

fn put_volume(world: &mut World, index: usize, recorded: &Value) {
    let on_node = json!({"key": HOST, "operator": "In", "values": [recorded["node"]]});
    let volume = json!({
        "metadata": {"name": format!("volume-{index}")},
        "spec": {
            "storageClassName": recorded["class"], "capacity": {"storage": recorded["capacity"]},
            "accessModes": ["ReadWriteOnce"],
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
        },
        "status": {"phase": "Available"},
    });
    put(world, "persistentvolumes", volume);
}

/// Adds a claim for each pair of class and size, and a pod that uses all of these claims.
fn put_pod<'a>(world: &mut World, claims: impl Iterator<Item = (&'a Value, &'a Value)>) -> NamespacedName {
    let mut volumes = Vec::new();
    for (index, (class, size)) in claims.enumerate() {
        let name = format!("claim-{index}");
        let claim = json!({
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "storageClassName": class, "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}},
            },
        });
        put(world, "persistentvolumeclaims", claim);
        volumes.push(json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
    }
    let pod = json!({"metadata": {"name": "pod", "namespace": "default"}, "spec": {"volumes": volumes}});
    put(world, "pods", pod);
    NamespacedName::new("default", "pod")
}
