//! The state of the cluster at one point of the journal: the fold of all commits, and who asked how often.
//!
//! Knows objects, not expectations.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::journal::{CallFact, Change, CommitFact, Fact, What};

/// Objects by name, of one resource.
pub(crate) type Objects = BTreeMap<(Option<String>, String), Arc<Value>>;

/// A refusal of a pod by the scheduler.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    /// The fact that carried it.
    pub(crate) seq: u64,
    /// The text for users.
    pub(crate) text: String,
}

/// The state at one point of the journal.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    resources: BTreeMap<Arc<str>, Objects>,
    /// The latest refusal of each pod that exists.
    refusals: BTreeMap<String, Refusal>,
    /// How often each thing was asked or attempted.
    rounds: BTreeMap<String, u64>,
}

impl World {
    /// Takes one fact in.
    pub(crate) fn apply(&mut self, fact: &Fact) {
        match &fact.what {
            What::Commit(commit) => self.commit(fact.seq, commit),
            What::Call(call) if call.method == "GetCapacity" => {
                *self.rounds.entry(call_key(call)).or_default() += 1;
            }
            _ => {}
        }
    }

    fn commit(&mut self, seq: u64, commit: &CommitFact) {
        let key = (commit.namespace.clone(), commit.name.clone());
        let objects = self.resources.entry(commit.resource.clone()).or_default();
        match commit.change {
            Change::Deleted => drop(objects.remove(&key)),
            Change::Added | Change::Modified => drop(objects.insert(key, commit.object.clone())),
        }
        match &*commit.resource {
            "pods" => self.pod(seq, commit),
            "events" if commit.change != Change::Deleted => self.event(seq, &commit.object),
            _ => {}
        }
    }

    fn pod(&mut self, seq: u64, commit: &CommitFact) {
        match commit.change {
            Change::Added | Change::Deleted => drop(self.refusals.remove(&commit.name)),
            Change::Modified => {
                if let Some(text) = unschedulable(&commit.object) {
                    self.refuse(seq, &commit.name, text);
                }
            }
        }
    }

    fn event(&mut self, seq: u64, event: &Value) {
        if event["reason"] != "FailedScheduling" {
            return;
        }
        let pod = event["regarding"]["name"]
            .as_str()
            .or_else(|| event["involvedObject"]["name"].as_str());
        let text = event["note"].as_str().or_else(|| event["message"].as_str());
        if let (Some(pod), Some(text)) = (pod, text) {
            self.refuse(seq, pod, text);
        }
    }

    fn refuse(&mut self, seq: u64, pod: &str, text: &str) {
        *self.rounds.entry(format!("pod {pod}")).or_default() += 1;
        self.refusals.insert(
            pod.to_owned(),
            Refusal {
                seq,
                text: text.to_owned(),
            },
        );
    }

    /// All objects of a resource.
    pub(crate) fn objects(
        &self,
        resource: &str,
    ) -> impl Iterator<Item = (&(Option<String>, String), &Arc<Value>)> {
        self.resources.get(resource).into_iter().flatten()
    }

    /// One object.
    pub(crate) fn object(&self, resource: &str, namespace: Option<&str>, name: &str) -> Option<&Arc<Value>> {
        self.resources
            .get(resource)?
            .get(&(namespace.map(str::to_owned), name.to_owned()))
    }

    /// The latest refusal of a pod.
    pub(crate) fn refusal(&self, pod: &str) -> Option<&Refusal> {
        self.refusals.get(pod)
    }

    /// How often each thing was asked so far.
    pub(crate) fn rounds(&self) -> &BTreeMap<String, u64> {
        &self.rounds
    }

    /// The largest number of times that one thing was asked since.
    pub(crate) fn rounds_since(&self, before: &BTreeMap<String, u64>) -> u64 {
        let since = |(key, count): (&String, &u64)| count - before.get(key).copied().unwrap_or(0);
        self.rounds.iter().map(since).max().unwrap_or(0)
    }
}

fn call_key(call: &CallFact) -> String {
    format!("{:?} {:?} {:?}", call.node, call.segment, call.parameters)
}

fn unschedulable(pod: &Value) -> Option<&str> {
    let conditions = pod["status"]["conditions"].as_array()?;
    let refused = |c: &&Value| c["type"] == "PodScheduled" && c["status"] == "False";
    Some(
        conditions.iter().find(refused)?["message"]
            .as_str()
            .unwrap_or_default(),
    )
}
