//! Compares two runs of one scenario: the first difference, and the final states of both clusters.
//!
//! Compares objects and calls; ignores generated names.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::capacity_api::RESOURCE;
use serde_json::Value;

use crate::client_name::HARNESS_CLIENTS;
use crate::cluster_state::ClusterState;
use crate::expectation::values_of;
use crate::journal::{Fact, Observation};
use crate::plan::{Plan, WORKLOADS};

/// The result of comparing two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The first difference; `None` if the runs are equal.
    pub first: Option<Difference>,
    /// Index of the last step that both runs have started.
    pub step: usize,
    /// The values of both runs at the end of step `step`, for each value that exists in either run.
    pub rows: Vec<ValuePair>,
    /// Kinds of writes and CSI calls, with the number of each kind in each run up to the end of step `step`.
    pub operations: Vec<(String, [usize; 2])>,
}

/// A compared value, such as a published capacity, in both runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuePair {
    /// The compared value, such as `capacity fast n1`.
    pub subject: String,
    /// The value in each run; `None` if the run does not have it.
    pub got: [Option<String>; 2],
}

/// The first difference between two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The value that differs, such as `capacity fast n1`.
    pub subject: String,
    /// The first change of the value that differs between the runs; `None` for a run without such a change.
    pub got: [Option<ValueChange>; 2],
}

/// A change of a compared value in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueChange {
    /// Index of the step in which the value changed.
    pub step: usize,
    /// Seconds between the start of the step and the change.
    pub seconds: f64,
    /// The new value as text.
    pub value: String,
}

/// Compares two journals of one plan.
pub fn compare(plan: &Plan, one: &[Fact], other: &[Fact]) -> Comparison {
    let runs = [History::of(plan, one), History::of(plan, other)];
    let step = runs[0].steps.min(runs[1].steps).saturating_sub(1);
    let subjects: BTreeSet<&String> = runs.iter().flat_map(|run| run.changes.keys()).collect();
    let rows = subjects.iter().filter_map(|subject| {
        let got = [
            runs[0].value_at_step_end(subject, step),
            runs[1].value_at_step_end(subject, step),
        ];
        let subject = (*subject).clone();
        (got != [None, None]).then_some(ValuePair { subject, got })
    });
    let differences = subjects.iter().filter_map(|subject| difference(subject, &runs));
    let kinds: BTreeSet<&String> = runs.iter().flat_map(|run| run.operations.keys()).collect();
    let count = |run: &History, kind: &str| {
        let of_kind = run.operations.get(kind).into_iter().flatten();
        of_kind.filter(|at| **at <= step).count()
    };
    Comparison {
        step,
        rows: rows.collect(),
        first: differences.min_by(|a, b| a.sort_key().total_cmp(&b.sort_key())),
        operations: kinds
            .iter()
            .map(|kind| ((*kind).clone(), [count(&runs[0], kind), count(&runs[1], kind)]))
            .collect(),
    }
}

impl Difference {
    /// Sort key of a change: by step first and by time second, because runs may differ in speed.
    fn sort_key(&self) -> f64 {
        /// A number of seconds that no step reaches, so that the step index decides the order.
        const STEP: f64 = 1e6;
        let keys = self.got.iter().flatten();
        #[expect(clippy::cast_precision_loss, reason = "the number of steps is small")]
        let keys = keys.map(|change| change.step as f64 * STEP + change.seconds);
        keys.fold(f64::INFINITY, f64::min)
    }
}

/// The first difference between two runs in the changes of one value.
fn difference(subject: &str, runs: &[History; 2]) -> Option<Difference> {
    let of = |run: &History| run.changes.get(subject).cloned().unwrap_or_default();
    let (one, other) = (of(&runs[0]), of(&runs[1]));
    let at = (0..one.len().max(other.len())).find(|&at| {
        let value = |changes: &[ValueChange]| changes.get(at).map(|change| change.value.clone());
        value(&one) != value(&other)
    })?;
    Some(Difference {
        subject: subject.to_owned(),
        got: [one.get(at).cloned(), other.get(at).cloned()],
    })
}

/// All compared values, writes and calls of one run over time.
#[derive(Default)]
struct History {
    /// Number of steps that have started in the run.
    steps: usize,
    /// All changes of each compared value, in order.
    changes: BTreeMap<String, Vec<ValueChange>>,
    /// For each kind of write or call, the step of every occurrence.
    operations: BTreeMap<String, Vec<usize>>,
}

/// Text for a value that does not exist.
const NOTHING: &str = "-";

impl History {
    fn of(plan: &Plan, facts: &[Fact]) -> Self {
        let mut history = History::default();
        let mut cluster = ClusterState::default();
        let mut began = 0.0;
        for fact in facts {
            cluster.apply(fact);
            let at = fact.at().as_secs_f64();
            match &fact.what {
                Observation::StepStarted(_) => {
                    history.steps += 1;
                    began = at;
                }
                Observation::Commit(commit) => {
                    let is_compared = COMPARED_RESOURCES.contains(&&*commit.resource);
                    if is_compared || &*commit.resource == "events" {
                        history.record_values(values(plan, &cluster), at - began);
                    }
                    if is_compared && !HARNESS_CLIENTS.contains(&&*commit.client) {
                        history.count_operation(format!("{} {}", commit.change.verb(), commit.resource));
                    }
                }
                Observation::Call(call) => history.count_operation(call.method.as_str().to_owned()),
                _ => {}
            }
        }
        history
    }

    fn count_operation(&mut self, operation: String) {
        let step = self.steps.saturating_sub(1);
        self.operations.entry(operation).or_default().push(step);
    }

    /// Records the compared values that have changed.
    fn record_values(&mut self, now: BTreeMap<String, String>, seconds: f64) {
        let step = self.steps.saturating_sub(1);
        let absent: Vec<String> = self
            .changes
            .keys()
            .filter(|it| !now.contains_key(*it))
            .cloned()
            .collect();
        let absent = absent.into_iter().map(|subject| (subject, NOTHING.to_owned()));
        for (subject, value) in now.into_iter().chain(absent) {
            let changes = self.changes.entry(subject).or_default();
            if changes.last().is_none_or(|last| last.value != value) {
                changes.push(ValueChange { step, seconds, value });
            }
        }
    }

    fn value_at_step_end(&self, subject: &str, step: usize) -> Option<String> {
        let changes = self.changes.get(subject)?;
        let last = changes.iter().rfind(|change| change.step <= step)?;
        (last.value != NOTHING).then(|| last.value.clone())
    }
}

const COMPARED_RESOURCES: [&str; 3] = [RESOURCE, "pods", "persistentvolumeclaims"];

/// The compared values of a cluster, without generated names.
fn values(plan: &Plan, cluster: &ClusterState) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    // Several CSIStorageCapacity objects for one class and segment are compared as one value.
    let mut capacities: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, object) in cluster.objects(RESOURCE) {
        let class = object["storageClassName"].as_str().unwrap_or_default();
        let segment = plan.segments.format_topology(object.get("nodeTopology"));
        let of_segment = capacities
            .entry(format!("capacity {class} {segment}"))
            .or_default();
        of_segment.push(values_of(object).to_string());
    }
    values.extend(capacities.into_iter().map(|(key, mut capacities)| {
        capacities.sort_unstable();
        (key, capacities.join(" and "))
    }));
    let mut of_namespace = |resource: &str, word: &str, show: &dyn Fn(&str, &Value) -> String| {
        for ((namespace, name), object) in cluster.objects(resource) {
            if namespace.as_deref() == Some(WORKLOADS) {
                values.insert(format!("{word} {name}"), show(name, object));
            }
        }
    };
    of_namespace("pods", "pod", &|name, pod: &Value| {
        let node = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty());
        match (node, cluster.scheduling_failure(name)) {
            (Some(node), _) => format!("on {node}"),
            (None, Some(_)) => "unschedulable".to_owned(),
            (None, None) => "undecided".to_owned(),
        }
    });
    of_namespace("persistentvolumeclaims", "claim", &|_, claim: &Value| {
        let phase = claim["status"]["phase"].as_str().unwrap_or("Pending");
        let selected = claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].as_str();
        match selected.filter(|_| phase == "Pending") {
            Some(node) => format!("{phase}, {node} selected"),
            None => phase.to_owned(),
        }
    });
    values
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::journal::{Change, CommitFact, StepMark};

    fn plan() -> Plan {
        let text = "id: a/b\ntitle: t\ncluster: {nodes: [n1], classes: [fast], backend: {n1: 1Gi}}\nsteps:\n  - id: s\n    expect: [{capacities: {fast: {n1: 1Gi}}, why: w}]\n";
        let scenarios = crate::scenario::parse("f.yaml", text).expect("valid scenario");
        crate::plan::resolve(&scenarios[0]).expect("the scenario resolves")
    }

    /// A run with one step in which a publisher writes these capacities to one object, one second apart.
    fn run(capacities: &[&str]) -> Vec<Fact> {
        let mut facts = vec![Observation::StepStarted(StepMark { step: 0 })];
        facts.extend(capacities.iter().enumerate().map(|(number, capacity)| {
            let topology = json!({"matchLabels": {"disk.example.com/node": "n1"}});
            Observation::Commit(CommitFact {
                client: "publisher".into(),
                change: if number == 0 {
                    Change::Added
                } else {
                    Change::Modified
                },
                resource: "csistoragecapacities".into(),
                namespace: Some("csi".to_owned()),
                name: format!("made-up-{}", capacities.len()),
                revision: 1,
                object: Arc::new(
                    json!({"storageClassName": "fast", "nodeTopology": topology, "capacity": capacity}),
                ),
            })
        }));
        let fact = |(seq, what)| Fact {
            seq,
            at_us: seq * 1_000_000,
            what,
        };
        (0..).zip(facts).map(fact).collect()
    }

    #[test]
    fn equal_runs_do_not_differ_by_generated_names() {
        let (one, mut other) = (run(&["1Gi"]), run(&["1Gi"]));
        if let Observation::Commit(commit) = &mut other[1].what {
            commit.name = "another".to_owned();
        }
        let compared = compare(&plan(), &one, &other);
        assert_eq!(compared.first, None);
        assert_eq!(compared.rows.len(), 1);
        assert_eq!(
            compared.operations,
            [("create csistoragecapacities".to_owned(), [1, 1])]
        );
    }

    #[test]
    fn first_difference_is_found_after_equal_values() {
        let compared = compare(&plan(), &run(&["1Gi", "2Gi"]), &run(&["1Gi", "3Gi", "2Gi"]));
        let first = compared.first.expect("the runs differ");
        assert_eq!(first.subject, "capacity fast n1");
        let values: Vec<_> = first
            .got
            .iter()
            .flatten()
            .map(|it| (it.value.as_str(), it.seconds))
            .collect();
        assert_eq!(values, [("2Gi", 2.0), ("3Gi", 2.0)]);
        let end = Some("2Gi".to_owned());
        assert_eq!(
            compared.rows[0].got,
            [end.clone(), end],
            "the final values are equal"
        );
    }

    #[test]
    fn run_without_writes_differs_from_run_with_writes() {
        let compared = compare(&plan(), &run(&[]), &run(&["1Gi"]));
        let first = compared.first.expect("the runs differ");
        assert_eq!(first.got[0], None);
        assert_eq!(compared.rows[0].got, [None, Some("1Gi".to_owned())]);
    }
}
