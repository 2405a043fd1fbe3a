//! Whether the programs have reacted to a step, which a negative expectation requires before it can hold.
//!
//! A missing object or a rejected pod proves nothing while capacity changes are pending. A publisher has reacted after it has called
//! GetCapacity often enough to have received the step's changes. A scheduler has reacted after it has decided about each pod since the last
//! event that could change the decision. A deadline of the monitor limits the wait.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::Verb;
use fake_csi::Method;
use serde_json::Value;

use super::unrecovered::UnrecoveredErrors;
use crate::cluster_state::{ActivityCounts, ClusterState, has_scheduler_error};
use crate::expectation::{Predicate, REQUEUE_RESOURCES};
use crate::journal::{CallFact, Change, DeliveryFact, Fact, Observation, ProcessEvent, RequestFact};
use crate::plan::Plan;
use crate::scenario::Role;
use capacity_types::pod::claims_of;

/// Number of GetCapacity calls for the same class and segment after which a publisher must have received a change. The first call may have
/// started before the change; the second belongs to the poll that receives the change; the third starts only after all calls of that poll.
const CALLS_MIN: u64 = 3;

/// Methods of the Identity service, which a publisher calls when it starts.
const IDENTITY_METHODS: [Method; 3] = [
    Method::Probe,
    Method::GetPluginInfo,
    Method::GetPluginCapabilities,
];

/// The running programs, and the events that schedulers have received.
#[derive(Debug, Default)]
pub(super) struct Activity {
    running: BTreeMap<Arc<str>, Role>,
    /// Programs that have sent no request since their start, with the journal time of the start.
    starting: BTreeMap<Arc<str>, u64>,
    /// Events that schedulers have received, in journal order.
    events: Vec<SchedulerEvent>,
    /// Journal time of the last GetCapacity call.
    pub(super) last_call_us: u64,
    /// The last capacity that the driver returned, by hash of class parameters and segment.
    capacities: HashMap<u64, Capacity>,
    pub(super) last_activity_us: u64,
    /// Errors of requests and calls after which programs may back off.
    pub(super) errors: UnrecoveredErrors,
    /// Total harness lag so far.
    pub(super) lag: Duration,
}

/// `available_capacity` and `maximum_volume_size` of a GetCapacity response.
type Capacity = (Option<i64>, Option<i64>);

/// Hash of the segment and parameters of a GetCapacity call.
fn capacity_key(call: &CallFact) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&call.segment, &call.parameters).hash(&mut hasher);
    hasher.finish()
}

/// A watch event or list response that a scheduler has received.
#[derive(Debug)]
struct SchedulerEvent {
    seq: u64,
    change: Change,
    resource: Arc<str>,
    /// Name of the API object in the event; None for a list response.
    name: Option<String>,
}

impl Activity {
    pub(super) fn apply(&mut self, fact: &Fact) {
        if fact.what.is_activity() || matches!(fact.what, Observation::Request(_)) {
            self.last_activity_us = fact.at_us;
        }
        self.errors.apply(&fact.what, fact.at_us);
        if !self.starting.is_empty() {
            self.record_first_request(&fact.what);
        }
        match &fact.what {
            Observation::Process(process) => match process.event {
                ProcessEvent::Started => {
                    self.running.insert(process.client.clone(), process.role);
                    if process.role != Role::Driver {
                        self.starting.insert(process.client.clone(), fact.at_us);
                    }
                }
                _ => {
                    self.running.remove(&process.client);
                    self.starting.remove(&process.client);
                }
            },
            Observation::Call(call) if call.method == Method::GetCapacity => {
                self.last_call_us = fact.at_us;
                // Clients react only to a GetCapacity response whose capacity has changed.
                let capacity = (call.available, call.maximum);
                let before = self.capacities.insert(capacity_key(call), capacity);
                if before.is_some_and(|before| before != capacity) {
                    self.last_activity_us = fact.at_us;
                }
            }
            Observation::Lag(lag) => self.lag += Duration::from_micros(lag.late_us),
            Observation::Delivery(delivery) if may_requeue(delivery) => self.events.push(SchedulerEvent {
                seq: fact.seq,
                change: delivery.change,
                resource: delivery.resource.clone(),
                name: Some(delivery.name.clone()),
            }),
            Observation::Request(request) if is_list(request) => self.events.push(SchedulerEvent {
                seq: fact.seq,
                change: Change::Added,
                resource: request.resource.as_str().into(),
                name: None,
            }),
            _ => {}
        }
    }

    /// Marks a program as started when it sends its first request. The driver does not know which program calls it, so a call of the
    /// Identity service (which the harness never makes in cases about capacity) marks all publishers of the node as started.
    fn record_first_request(&mut self, what: &Observation) {
        match what {
            Observation::Request(request) => drop(self.starting.remove(&request.client)),
            Observation::Fault(fault) => {
                if let Some(client) = &fault.client {
                    self.starting.remove(client);
                }
            }
            Observation::Call(call) if IDENTITY_METHODS.contains(&call.method) => {
                let running = &self.running;
                self.starting.retain(|client, _| {
                    let node = client.split_once('@').map(|(_, node)| node);
                    let calls = node.is_none() || node == call.node.as_deref();
                    !(calls && running.get(client) == Some(&Role::Publisher))
                });
            }
            _ => {}
        }
    }

    /// Journal time of the latest start of a program that has sent no request yet.
    pub(super) fn starting_us(&self) -> Option<u64> {
        self.starting.values().copied().max()
    }

    fn is_running(&self, role: Role) -> bool {
        self.running.values().any(|running| *running == role)
    }

    /// Whether the publisher has called GetCapacity often enough since `before`, or does not poll.
    pub(super) fn has_publisher_polled(
        &self,
        plan: &Plan,
        cluster: &ClusterState,
        before: &ActivityCounts,
    ) -> bool {
        let polls = plan.publisher.polls && self.is_running(Role::Publisher);
        !polls || cluster.rounds().calls_since(before) >= CALLS_MIN
    }

    /// Whether the scheduler has decided about each pod with a negative expectation, after the last event that could change the decision.
    pub(super) fn has_scheduler_decided(
        &self,
        cluster: &ClusterState,
        predicate: &Predicate,
        step_started: u64,
    ) -> bool {
        let negative_pods = predicate.kind().negative_pods(cluster);
        self.has_decided_waiting_pods(cluster, |name| match &negative_pods {
            // A rejection in an earlier step proves nothing for this step.
            Some(negative_pods) if negative_pods.contains(name) => Some(step_started),
            Some(_) => None,
            None => Some(0),
        })
    }

    /// Whether the scheduler has decided about every pod, after the last event that could change the decision, and retries none on its own.
    pub(super) fn has_scheduler_decided_all_pods(&self, cluster: &ClusterState) -> bool {
        let is_retrying = self.is_running(Role::Scheduler)
            && cluster.pending_pods().any(|(_, pod)| has_scheduler_error(pod));
        !is_retrying && self.has_decided_waiting_pods(cluster, |_| Some(0))
    }

    pub(super) fn has_provisioned_all_claims(&self, cluster: &ClusterState) -> bool {
        !self.is_running(Role::Publisher) || !cluster.has_unbound_claims()
    }

    pub(super) fn has_rejected_all_waiting_pods(&self, cluster: &ClusterState) -> bool {
        let mut waiting = cluster.pending_pods();
        waiting.all(|(name, _)| cluster.scheduling_failure(name).is_some())
    }

    /// Whether the scheduler has decided about every pod. `since`: sequence number from which a rejection of the pod counts; None if no
    /// rejection is needed.
    fn has_decided_waiting_pods(
        &self,
        cluster: &ClusterState,
        since: impl Fn(&String) -> Option<u64>,
    ) -> bool {
        !self.is_running(Role::Scheduler)
            || cluster.pending_pods().all(|(name, pod)| {
                since(name).is_none_or(|since| {
                    let rejected = cluster.scheduling_failure(name).map(|refusal| refusal.seq);
                    rejected.is_some_and(|at| at >= since && !self.has_event_for(cluster, pod, at))
                })
            })
    }

    /// Whether the scheduler has received an event that could make the pod schedulable. `after`: sequence number of an earlier fact.
    fn has_event_for(&self, cluster: &ClusterState, pod: &Value, after: u64) -> bool {
        let later = self.events.iter().rev().take_while(|event| event.seq > after);
        let mut later = later.peekable();
        if later.peek().is_none() {
            return false;
        }
        let claims = claims_of(pod);
        later.any(|event| event.concerns_claims(cluster, &claims))
    }
}

impl SchedulerEvent {
    fn concerns_claims(&self, cluster: &ClusterState, claims: &[String]) -> bool {
        let (Some(name), false) = (&self.name, self.change == Change::Deleted) else {
            return true;
        };
        match &*self.resource {
            "persistentvolumeclaims" => claims.contains(name),
            "persistentvolumes" => {
                let claim = cluster.object("persistentvolumes", None, name);
                let claim = claim.and_then(|volume| volume["spec"]["claimRef"]["name"].as_str());
                claim.is_none_or(|claim| claims.iter().any(|own| own == claim))
            }
            _ => true,
        }
    }
}

fn may_requeue(delivery: &DeliveryFact) -> bool {
    let frees_resources = &*delivery.resource == "pods" && delivery.change == Change::Deleted;
    Role::of_client(&delivery.client) == Some(Role::Scheduler)
        && (frees_resources || REQUEUE_RESOURCES.contains(&&*delivery.resource))
}

fn is_list(request: &RequestFact) -> bool {
    request.verb == Verb::List
        && request.code == 200
        && Role::of_client(&request.client) == Some(Role::Scheduler)
        && REQUEUE_RESOURCES.contains(&request.resource.as_str())
}
