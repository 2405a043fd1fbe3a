//! The state of the cluster at one position of the journal: the result of all commits before that position, and the number of GetCapacity
//! calls and scheduling attempts.
//!
//! Does not know expectations.

use capacity_types::{DRIVER_LABEL, MANAGED_BY_LABEL};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capacity_types::capacity_api::RESOURCE;
use fake_csi::Method;
use serde_json::Value;

use crate::journal::{
    CallFact, Change, CommitFact, DiscoveryFact, Fact, HarnessCallFact, MetricsFact, Observation,
};
use crate::plan::WORKLOADS;
use crate::scenario::Role;

/// Objects of one resource, by namespace and name.
pub(crate) type Objects = BTreeMap<(Option<String>, String), Arc<Value>>;

#[derive(Debug, Clone)]
pub(crate) struct SchedulingFailure {
    /// Sequence number of the fact that contains the report.
    pub(crate) seq: u64,
    /// The scheduler's message.
    pub(crate) text: String,
    source: RefusalSource,
    /// Whether the scheduler has reported the failure both as a condition and as an Event.
    reported_twice: bool,
}

/// A scheduler reports each failure twice, as a pod condition and as an Event, in any order. The second of the two may be much later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefusalSource {
    Condition,
    Event,
}

/// Number of GetCapacity calls and of failed scheduling attempts so far. Subtract an earlier snapshot to get the number since then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActivityCounts {
    /// Number of GetCapacity calls, by node, segment and parameters.
    calls: BTreeMap<String, u64>,
    /// Number of failed scheduling attempts, by pod.
    attempts: BTreeMap<String, u64>,
}

impl ActivityCounts {
    /// The number of GetCapacity calls since `before` for the node, segment and parameters with the most calls.
    pub(crate) fn calls_since(&self, before: &ActivityCounts) -> u64 {
        max_increase(&self.calls, &before.calls)
    }

    /// The number of failed scheduling attempts since `before` for the pod with the most attempts.
    pub(crate) fn attempts_since(&self, before: &ActivityCounts) -> u64 {
        max_increase(&self.attempts, &before.attempts)
    }
}

/// Adds the name of a committed object to a set if `is_member` is true for the object; otherwise removes the name.
fn update_names(names: &mut BTreeSet<String>, commit: &CommitFact, is_member: impl Fn(&Value) -> bool) {
    match commit.change != Change::Deleted && is_member(&commit.object) {
        true => names.insert(commit.name.clone()),
        false => names.remove(&commit.name),
    };
}

fn is_unbound(claim: &Value) -> bool {
    let volume = claim["spec"]["volumeName"].as_str();
    volume.is_none_or(str::is_empty)
}

fn max_increase(now: &BTreeMap<String, u64>, before: &BTreeMap<String, u64>) -> u64 {
    let since = |(key, count): (&String, &u64)| count - before.get(key).copied().unwrap_or(0);
    now.iter().map(since).max().unwrap_or(0)
}

/// The state of the cluster at one position of the journal.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClusterState {
    resources: BTreeMap<Arc<str>, Objects>,
    /// Whether Event objects are dropped, to save memory: there may be several for each pod.
    drops_events: bool,
    /// Pods in the workload namespace that have no node yet.
    waiting: BTreeSet<String>,
    /// PVCs in the workload namespace that have no volume yet.
    unbound: BTreeSet<String>,
    /// The latest scheduling failure of each existing pod.
    refusals: BTreeMap<String, SchedulingFailure>,
    /// Number of GetCapacity calls and of failed scheduling attempts so far.
    rounds: ActivityCounts,
    /// UIDs of the CSIStorageCapacity objects that publishers created without the driver and managed-by labels.
    unlabelled: BTreeSet<String>,
    /// Driver responses to calls of the harness, by their name in the case, with the sequence number of the fact.
    answers: BTreeMap<String, (u64, HarnessCallFact)>,
    /// Latest discovery result by resource, with the sequence number of the fact.
    served: BTreeMap<String, (u64, DiscoveryFact)>,
    /// Latest metrics, with the sequence number of the fact.
    metrics: Option<(u64, MetricsFact)>,
}

impl ClusterState {
    /// Drops Event objects from now on. The scheduling failures that they report are still recorded.
    pub(crate) fn drop_events(&mut self) {
        self.drops_events = true;
        self.resources.remove("events");
    }

    pub(crate) fn apply(&mut self, fact: &Fact) {
        match &fact.what {
            Observation::Commit(commit) => self.commit(fact.seq, commit),
            Observation::Call(call) if call.method == Method::GetCapacity => {
                *self.rounds.calls.entry(call_key(call)).or_default() += 1;
            }
            Observation::Answer(answer) => {
                self.answers
                    .insert(answer.name.clone(), (fact.seq, answer.clone()));
            }
            Observation::Discovery(discovery) => {
                self.served
                    .insert(discovery.resource.clone(), (fact.seq, discovery.clone()));
            }
            Observation::Metrics(metrics) => self.metrics = Some((fact.seq, metrics.clone())),
            _ => {}
        }
    }

    pub(crate) fn commit(&mut self, seq: u64, commit: &CommitFact) {
        let key = (commit.namespace.clone(), commit.name.clone());
        if *commit.resource == *RESOURCE {
            self.note_unlabelled(commit);
        }
        let is_dropped = self.drops_events && *commit.resource == *"events";
        let objects = self.resources.entry(commit.resource.clone()).or_default();
        let before = match commit.change {
            _ if is_dropped => None,
            Change::Deleted => objects.remove(&key),
            Change::Added | Change::Modified => objects.insert(key, commit.object.clone()),
        };
        match &*commit.resource {
            "pods" => self.apply_pod(seq, commit, before.as_deref()),
            "persistentvolumeclaims" => self.claim(commit),
            "events" if commit.change != Change::Deleted => self.event(seq, &commit.object),
            _ => {}
        }
    }

    fn note_unlabelled(&mut self, commit: &CommitFact) {
        let labels = &commit.object["metadata"]["labels"];
        let is_unlabelled = commit.change == Change::Added
            && Role::of_client(&commit.client) == Some(Role::Publisher)
            // Only labels at the creation count: a publisher that removes them later hands the object over to another manager.
            && [DRIVER_LABEL, MANAGED_BY_LABEL].iter().any(|label| labels[label].is_null());
        // The UID remains in the set after the deletion of the object, because the DELETED event contains the last state.
        self.unlabelled
            .extend(is_unlabelled.then(|| uid_of(&commit.object).to_owned()));
    }

    /// Whether a publisher of this case created the object without the driver and managed-by labels.
    pub(crate) fn is_made_by_publisher(&self, object: &Value) -> bool {
        self.unlabelled.contains(uid_of(object))
    }

    fn apply_pod(&mut self, seq: u64, commit: &CommitFact, before: Option<&Value>) {
        if commit.namespace.as_deref() == Some(WORKLOADS) {
            update_names(&mut self.waiting, commit, is_pending);
        }
        match commit.change {
            Change::Added | Change::Deleted => drop(self.refusals.remove(&commit.name)),
            Change::Modified => {
                let text = unschedulable(&commit.object);
                if let Some(text) = text.filter(|_| text != before.and_then(unschedulable)) {
                    self.record_scheduling_failure(seq, &commit.name, text, RefusalSource::Condition);
                }
            }
        }
    }

    fn claim(&mut self, commit: &CommitFact) {
        if commit.namespace.as_deref() == Some(WORKLOADS) {
            update_names(&mut self.unbound, commit, is_unbound);
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
            self.record_scheduling_failure(seq, pod, text, RefusalSource::Event);
        }
    }

    fn record_scheduling_failure(&mut self, seq: u64, pod: &str, text: &str, source: RefusalSource) {
        if let Some(last) = self.refusals.get_mut(pod)
            && last.text == text
            && last.source != source
            && !last.reported_twice
        {
            // This fact is the second report of the failure: the scheduler sets a condition and creates an Event.
            last.reported_twice = true;
            return;
        }
        *self.rounds.attempts.entry(pod.to_owned()).or_default() += 1;
        let refusal = SchedulingFailure {
            seq,
            text: text.to_owned(),
            source,
            reported_twice: false,
        };
        self.refusals.insert(pod.to_owned(), refusal);
    }

    pub(crate) fn objects(
        &self,
        resource: &str,
    ) -> impl Iterator<Item = (&(Option<String>, String), &Arc<Value>)> {
        self.resources.get(resource).into_iter().flatten()
    }

    /// Pods in the workload namespace that have no node yet.
    pub(crate) fn pending_pods(&self) -> impl Iterator<Item = (&String, &Arc<Value>)> {
        let pods = self.waiting.iter();
        pods.filter_map(|name| Some((name, self.object("pods", Some(WORKLOADS), name)?)))
    }

    /// Whether a PVC in the workload namespace has no volume yet.
    pub(crate) fn has_unbound_claims(&self) -> bool {
        !self.unbound.is_empty()
    }

    pub(crate) fn object(&self, resource: &str, namespace: Option<&str>, name: &str) -> Option<&Arc<Value>> {
        self.resources
            .get(resource)?
            .get(&(namespace.map(str::to_owned), name.to_owned()))
    }

    /// The driver's response to the call with this name in the case, with the sequence number of the fact.
    pub(crate) fn response_of_call(&self, name: &str) -> Option<&(u64, HarnessCallFact)> {
        self.answers.get(name)
    }

    /// The latest discovery result of a resource, with the sequence number of the fact.
    pub(crate) fn served(&self, resource: &str) -> Option<&(u64, DiscoveryFact)> {
        self.served.get(resource)
    }

    /// The latest metrics, with the sequence number of the fact.
    pub(crate) fn metrics(&self) -> Option<&(u64, MetricsFact)> {
        self.metrics.as_ref()
    }

    pub(crate) fn scheduling_failure(&self, pod: &str) -> Option<&SchedulingFailure> {
        self.refusals.get(pod)
    }

    /// Number of GetCapacity calls and of failed scheduling attempts so far.
    pub(crate) fn rounds(&self) -> &ActivityCounts {
        &self.rounds
    }
}

/// Key under which GetCapacity calls are counted: node, segment and parameters.
pub(crate) fn call_key(call: &CallFact) -> String {
    format!("{:?} {:?} {:?}", call.node, call.segment, call.parameters)
}

fn uid_of(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

fn is_pending(pod: &Value) -> bool {
    let is_placed = pod["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    !is_placed && pod["metadata"]["deletionTimestamp"].is_null()
}

/// Whether the scheduler has selected a node for the pod but failed to bind the pod. The scheduler retries such a pod after a back-off.
pub(crate) fn has_scheduler_error(pod: &Value) -> bool {
    unscheduled_condition(pod).is_some_and(|condition| condition["reason"] == "SchedulerError")
}

fn unschedulable(pod: &Value) -> Option<&str> {
    Some(
        unscheduled_condition(pod)?["message"]
            .as_str()
            .unwrap_or_default(),
    )
}

/// The PodScheduled=False condition of a pod.
fn unscheduled_condition(pod: &Value) -> Option<&Value> {
    let conditions = pod["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn commit(seq: u64, resource: &str, change: Change, object: Value) -> Fact {
        let what = Observation::Commit(CommitFact {
            client: "scheduler".into(),
            change,
            resource: resource.into(),
            namespace: Some("workloads".to_owned()),
            name: "p".to_owned(),
            revision: seq,
            object: Arc::new(object),
        });
        Fact { seq, at_us: 0, what }
    }

    fn condition(seq: u64, text: &str) -> Fact {
        let condition = json!({"type": "PodScheduled", "status": "False", "message": text});
        let pod = json!({"status": {"conditions": [condition]}});
        commit(seq, "pods", Change::Modified, pod)
    }

    fn event(seq: u64, text: &str) -> Fact {
        let event = json!({"reason": "FailedScheduling", "regarding": {"name": "p"}, "note": text});
        commit(seq, "events", Change::Added, event)
    }

    /// Sequence number of the first report of the latest failure, and the number of failures.
    fn after(facts: &[Fact]) -> (u64, u64) {
        let mut cluster = ClusterState::default();
        facts.iter().for_each(|fact| cluster.apply(fact));
        let refusal = cluster
            .scheduling_failure("p")
            .expect("the pod has a scheduling failure");
        (
            refusal.seq,
            cluster.rounds().attempts_since(&ActivityCounts::default()),
        )
    }

    #[test]
    fn event_and_condition_with_the_same_message_are_one_failure() {
        assert_eq!(after(&[condition(1, "full"), event(2, "full")]), (1, 1));
        assert_eq!(after(&[event(1, "full"), condition(2, "full")]), (1, 1));
    }

    #[test]
    fn second_attempt_is_another_failure() {
        let reports = [event(1, "full"), condition(2, "full"), event(3, "full")];
        assert_eq!(after(&reports), (3, 2));
        assert_eq!(after(&[condition(1, "full"), condition(2, "fuller")]), (2, 2));
    }

    #[test]
    fn other_pod_changes_are_not_failures() {
        assert_eq!(
            after(&[condition(1, "full"), event(2, "full"), condition(3, "full")]),
            (1, 1)
        );
    }
}
