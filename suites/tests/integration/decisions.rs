//! Replays recorded decisions of a real kube-scheduler with the filter and score of the reference scheduler: the results must be equal.
//!
//! Replays the recordings in `fixtures/decisions`, and every `filter.json` and `score.json` below the folder in the variable `DECISIONS`.
//! Each recording is a small cluster with the verdicts of kube-scheduler 1.36. The recordings in `edges` contain every operator, fractions,
//! negative and huge quantities, and pods with several claims.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use capacity_diagnose::explain::{self, ExplainOptions};
use capacity_scheduler::cycle::{self, Assessment, Cause};
use capacity_scheduler::filter::ConflictReason;
use capacity_scheduler::objects::{Object, Pod};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::shape::{Shape, ShapePoint};
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;
use serde_json::{Value, json};

use crate::recordings;

type Failure = Box<dyn Error>;

fn replay(name: &str, replay: impl Fn(&Value) -> Result<Tally, Failure>) {
    for (path, file) in recordings::read::<Value>("decisions", "DECISIONS", name) {
        let tally = replay(&file).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(tally.total > 0, "{} contains no decision", path.display());
        let differences = tally.differences.join("\n");
        let (wrong, total) = (tally.differences.len(), tally.total);
        assert!(
            wrong == 0,
            "{}: {wrong} of {total} differ:\n{differences}",
            path.display()
        );
    }
}

#[test]
fn filter_decisions_match_kube_scheduler() {
    replay("filter.json", replay_filter);
}

#[test]
fn scores_match_kube_scheduler() {
    replay("score.json", replay_score);
}

#[derive(Default)]
struct Tally {
    total: usize,
    differences: Vec<String>,
}

impl Tally {
    /// Compares a recorded result of kube-scheduler with the reference's result. `why` explains a difference, and is called only for
    /// differences.
    fn compare<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        expected: &T,
        found: &T,
        why: impl Fn() -> String,
    ) {
        self.total += 1;
        if expected != found {
            self.differences.push(format!(
                "{what}: recorded {expected:?}, found {found:?}\n{}",
                why()
            ));
        }
    }
}

fn replay_filter(file: &Value) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    for case in array(&file["cases"]) {
        let mut snapshot = Snapshot::default();
        for node in array(&file["world"]["nodes"]) {
            put(&mut snapshot.nodes, json!({"metadata": node}))?;
        }
        for (name, flag) in file["world"]["drivers"].as_object().into_iter().flatten() {
            put_driver(&mut snapshot, name, flag)?;
        }
        let class = &case["name"];
        put_class(
            &mut snapshot,
            class,
            &case["provisioner"],
            &case["allowedTopologies"],
        )?;
        for (index, capacity) in array(&case["capacities"]).iter().enumerate() {
            put_capacity(&mut snapshot, index, capacity, &capacity["nodeTopology"])?;
        }
        let claims = array(&case["claims"]).iter().map(|size| (class, size));
        let pod = put_claims(&mut snapshot, claims)?;
        let verdicts = verdicts(&cycle::assess(&snapshot, &Rules::default(), &pod)?);
        for (node, expected) in case["verdict"].as_object().into_iter().flatten() {
            let found = verdicts.get(node).copied();
            let why = || explain(&snapshot, &Rules::default(), &pod, Some(node));
            tally.compare(&format!("{class} on {node}"), &expected.as_str(), &found, why);
        }
    }
    Ok(tally)
}

/// The text that the `why` command prints for the pod on this node, or on all nodes.
fn explain(snapshot: &Snapshot, rules: &Rules, pod: &Pod, node: Option<&str>) -> String {
    let detail = ExplainOptions {
        node: node.map(str::to_owned),
        ..ExplainOptions::default()
    };
    let explained = explain::pod(snapshot, rules, pod, &detail);
    explained.map_or_else(|error| error.to_string(), |explained| explained.to_string())
}

fn verdicts(assessment: &Assessment) -> BTreeMap<String, &'static str> {
    let feasible = assessment
        .feasible
        .iter()
        .map(|feasible| (feasible.node.name().to_owned(), "fits"));
    let refused = assessment.rejected.iter().map(|refused| {
        let verdict = match &refused.cause {
            Cause::Volumes(refusals) => match refusals.as_slice() {
                [ConflictReason::NotEnoughSpace { .. }] => "no capacity",
                [ConflictReason::BindConflict { .. }] => "no volume or topology",
                _ => "another refusal",
            },
            Cause::Filter(_) | Cause::Extender { .. } => "unfit",
        };
        (refused.node.name().to_owned(), verdict)
    });
    feasible.chain(refused).collect()
}

fn replay_score(file: &Value) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    for case in array(&file["cases"]) {
        let mut snapshot = Snapshot::default();
        for node in array(&file["nodes"]) {
            put(
                &mut snapshot.nodes,
                json!({"metadata": {"name": node, "labels": {"kubernetes.io/hostname": node}}}),
            )?;
        }
        put_driver(&mut snapshot, "on.example.com", &json!(true))?;
        for class in array(&case["classes"]) {
            put_class(&mut snapshot, class, &json!("on.example.com"), &Value::Null)?;
        }
        for (index, capacity) in array(&case["capacities"]).iter().enumerate() {
            let topology = json!({"matchLabels": {"kubernetes.io/hostname": capacity["node"]}});
            put_capacity(&mut snapshot, index, capacity, &topology)?;
        }
        for (index, volume) in array(&case["volumes"]).iter().enumerate() {
            put_volume(&mut snapshot, index, volume)?;
        }
        let claims = array(&case["claims"])
            .iter()
            .map(|claim| (&claim["class"], &claim["size"]));
        let pod = put_claims(&mut snapshot, claims)?;
        let rules = Rules {
            shape: Some(shape(
                &file["shapes"][case["shape"].as_str().unwrap_or_default()],
            )?),
            ..Rules::default()
        };
        let expected: BTreeMap<String, i64> = serde_json::from_value(case["scores"].clone())?;
        tally.compare(
            &case["name"].to_string(),
            &expected,
            &scores(&cycle::assess(&snapshot, &rules, &pod)?),
            || explain(&snapshot, &rules, &pod, None),
        );
    }
    Ok(tally)
}

/// The scores of the feasible nodes. As in kube-scheduler, a single feasible node is not scored.
fn scores(assessment: &Assessment) -> BTreeMap<String, i64> {
    if assessment.feasible.len() < 2 {
        return BTreeMap::new();
    }
    let feasible = assessment.feasible.iter();
    feasible
        .map(|feasible| (feasible.node.name().to_owned(), feasible.score))
        .collect()
}

fn shape(points: &Value) -> Result<Shape, Failure> {
    let number = |value: &Value| value.as_i64().ok_or("a shape holds whole numbers");
    let mut read = Vec::new();
    for point in array(points) {
        read.push(ShapePoint {
            utilization: number(&point["utilization"])?,
            score: number(&point["score"])?,
        });
    }
    Ok(Shape::new(&read)?)
}

fn put_driver(snapshot: &mut Snapshot, name: &str, flag: &Value) -> Result<(), Failure> {
    put(
        &mut snapshot.drivers,
        json!({"metadata": {"name": name}, "spec": {"storageCapacity": flag}}),
    )
}

fn put_class(
    snapshot: &mut Snapshot,
    name: &Value,
    provisioner: &Value,
    allowed: &Value,
) -> Result<(), Failure> {
    put(
        &mut snapshot.classes,
        json!({
            "metadata": {"name": name}, "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": allowed,
        }),
    )
}

fn put_capacity(
    snapshot: &mut Snapshot,
    index: usize,
    source: &Value,
    topology: &Value,
) -> Result<(), Failure> {
    put(
        &mut snapshot.capacities,
        json!({
            "metadata": {"name": format!("capacity-{index}"), "namespace": source["namespace"]},
            "storageClassName": source["class"], "nodeTopology": topology,
            "capacity": source["capacity"], "maximumVolumeSize": source["maximumVolumeSize"],
        }),
    )
}

fn put_volume(snapshot: &mut Snapshot, index: usize, source: &Value) -> Result<(), Failure> {
    let on_node = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [source["node"]]});
    put(
        &mut snapshot.volumes,
        json!({
            "metadata": {"name": format!("volume-{index}")},
            "spec": {
                "storageClassName": source["class"], "capacity": {"storage": source["capacity"]},
                "accessModes": ["ReadWriteOnce"],
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
            },
            "status": {"phase": "Available"},
        }),
    )
}

/// Adds one claim for each pair of class and size, and returns a pod that uses these claims.
fn put_claims<'a>(
    snapshot: &mut Snapshot,
    claims: impl Iterator<Item = (&'a Value, &'a Value)>,
) -> Result<Pod, Failure> {
    let mut volumes = Vec::new();
    for (index, (class, size)) in claims.enumerate() {
        let name = format!("claim-{index}");
        put(
            &mut snapshot.claims,
            json!({
                "metadata": {"name": name, "namespace": "default"},
                "spec": {
                    "storageClassName": class, "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": size}},
                },
            }),
        )?;
        volumes.push(json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
    }
    let pod = json!({
        "metadata": {"name": "pod", "namespace": "default"}, "spec": {"containers": [], "volumes": volumes},
    });
    Ok(Pod::read(&serde_json::from_value(pod)?)?)
}

fn put<T>(collection: &mut impl Collection<T>, source: Value) -> Result<(), Failure>
where
    T: Object,
    T::Api: serde::de::DeserializeOwned,
{
    collection.put(Arc::new(T::read(&serde_json::from_value(source)?)?));
    Ok(())
}

pub(crate) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
