//! Whether the systems have reacted to a step: required before a negative expectation can hold.
//!
//! A missing object or a rejected pod proves nothing while capacity changes are pending. A publisher has reacted once it has called
//! GetCapacity often enough to have seen the step's changes; a scheduler, once it has decided about each pod after the last event that
//! could change its decision. A bound of the monitor limits the wait.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::Verb;
use fake_csi::Method;
use serde_json::Value;

use super::troubles::Troubles;
use crate::cluster_state::{ClusterState, Rounds, is_given_back};
use crate::expectation::{NEWS, Predicate};
use crate::journal::{CallFact, Change, DeliveryFact, Fact, ProcessEvent, RequestFact, What};
use crate::plan::Plan;
use crate::scenario::Role;
use capacity_types::pod::claims_of;

/// The first call may have started before the change, and the second belongs to the refresh that sees it. The third starts only after all
/// calls of that refresh.
const CALLS: u64 = 3;

/// Identity service calls, with which a publisher starts.
const IDENTITY: [Method; 3] = [
    Method::Probe,
    Method::GetPluginInfo,
    Method::GetPluginCapabilities,
];

/// Running systems, and the events that schedulers have observed.
#[derive(Debug, Default)]
pub(super) struct Scene {
    running: BTreeMap<Arc<str>, Role>,
    /// Programs without a request since their start, with the journal time of the start.
    starting: BTreeMap<Arc<str>, u64>,
    /// In journal order.
    news: Vec<News>,
    /// Journal time of the last GetCapacity call.
    pub(super) asked_us: u64,
    /// The last capacity returned for each class and segment, by hash of parameters and segment.
    answers: HashMap<u64, Answer>,
    /// Journal time of the last fact that shows activity.
    pub(super) moved_us: u64,
    /// Errors after which systems may back off.
    pub(super) troubles: Troubles,
    /// Total harness lag so far.
    pub(super) late: Duration,
}

/// `available_capacity` and `maximum_volume_size`.
type Answer = (Option<i64>, Option<i64>);

/// Hash of a call's segment and parameters.
fn question(call: &CallFact) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&call.segment, &call.parameters).hash(&mut hasher);
    hasher.finish()
}

/// An event that a scheduler has observed.
#[derive(Debug)]
struct News {
    seq: u64,
    change: Change,
    resource: Arc<str>,
    /// None for a list response.
    name: Option<String>,
}

impl Scene {
    /// Processes a fact.
    pub(super) fn apply(&mut self, fact: &Fact) {
        if fact.what.is_activity() || matches!(fact.what, What::Request(_)) {
            self.moved_us = fact.at_us;
        }
        self.troubles.apply(&fact.what, fact.at_us);
        if !self.starting.is_empty() {
            self.end_start(&fact.what);
        }
        match &fact.what {
            What::Process(process) => match process.event {
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
            What::Call(call) if call.method == Method::GetCapacity => {
                self.asked_us = fact.at_us;
                // Clients react to a changed capacity.
                let answer = (call.available, call.maximum);
                let before = self.answers.insert(question(call), answer);
                if before.is_some_and(|before| before != answer) {
                    self.moved_us = fact.at_us;
                }
            }
            What::Lag(lag) => self.late += Duration::from_micros(lag.late_us),
            What::Delivery(delivery) if is_news(delivery) => self.news.push(News {
                seq: fact.seq,
                change: delivery.change,
                resource: delivery.resource.clone(),
                name: Some(delivery.name.clone()),
            }),
            What::Request(request) if is_list(request) => self.news.push(News {
                seq: fact.seq,
                change: Change::Added,
                resource: request.resource.as_str().into(),
                name: None,
            }),
            _ => {}
        }
    }

    /// A program's first request ends its start. The driver does not know its callers, so a call of the Identity service (which the harness
    /// never makes in cases about capacity) ends the start of the node's publishers.
    fn end_start(&mut self, what: &What) {
        match what {
            What::Request(request) => drop(self.starting.remove(&request.client)),
            What::Fault(fault) => {
                if let Some(client) = &fault.client {
                    self.starting.remove(client);
                }
            }
            What::Call(call) if IDENTITY.contains(&call.method) => {
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

    /// Journal time of the latest start of a program without requests.
    pub(super) fn starting_us(&self) -> Option<u64> {
        self.starting.values().copied().max()
    }

    fn runs(&self, role: Role) -> bool {
        self.running.values().any(|running| *running == role)
    }

    /// Whether the publisher has called GetCapacity often enough since `before`, or does not poll.
    pub(super) fn has_asked(&self, plan: &Plan, cluster: &ClusterState, before: &Rounds) -> bool {
        let polls = plan.publisher.polls && self.runs(Role::Publisher);
        !polls || cluster.rounds().calls_since(before) >= CALLS
    }

    /// Whether the scheduler has decided about each pod with a negative expectation since its last relevant event.
    pub(super) fn has_decided(
        &self,
        cluster: &ClusterState,
        predicate: &Predicate,
        step_started: u64,
    ) -> bool {
        let subjects = predicate.kind().pods(cluster);
        self.decides_about(cluster, |name| match &subjects {
            // A rejection in an earlier step does not count for this one.
            Some(subjects) if subjects.contains(name) => Some(step_started),
            Some(_) => None,
            None => Some(0),
        })
    }

    /// Whether the scheduler has decided about every pod since its last relevant event, and will not retry one by itself.
    pub(super) fn has_decided_all(&self, cluster: &ClusterState) -> bool {
        let goes_on = self.runs(Role::Scheduler) && cluster.waiting().any(|(_, pod)| is_given_back(pod));
        !goes_on && self.decides_about(cluster, |_| Some(0))
    }

    /// Whether no PVC waits for provisioning.
    pub(super) fn has_provisioned_all(&self, cluster: &ClusterState) -> bool {
        !self.runs(Role::Publisher) || !cluster.has_unbound_claims()
    }

    /// Whether the scheduler has rejected every waiting pod at least once.
    pub(super) fn has_refused_all(&self, cluster: &ClusterState) -> bool {
        let mut waiting = cluster.waiting();
        waiting.all(|(name, _)| cluster.refusal(name).is_some())
    }

    /// `since`: sequence number from which a rejection of the pod counts. None if no rejection is needed.
    fn decides_about(&self, cluster: &ClusterState, since: impl Fn(&String) -> Option<u64>) -> bool {
        !self.runs(Role::Scheduler)
            || cluster.waiting().all(|(name, pod)| {
                since(name).is_none_or(|since| {
                    let refused = cluster.refusal(name).map(|refusal| refusal.seq);
                    refused.is_some_and(|at| at >= since && !self.is_news_for(cluster, pod, at))
                })
            })
    }

    /// Whether the scheduler has observed an event after a fact that could make the pod schedulable.
    fn is_news_for(&self, cluster: &ClusterState, pod: &Value, after: u64) -> bool {
        let later = self.news.iter().rev().take_while(|news| news.seq > after);
        let mut later = later.peekable();
        if later.peek().is_none() {
            return false;
        }
        let claims = claims_of(pod);
        later.any(|news| news.concerns(cluster, &claims))
    }
}

impl News {
    fn concerns(&self, cluster: &ClusterState, claims: &[String]) -> bool {
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

fn is_news(delivery: &DeliveryFact) -> bool {
    let is_freed = &*delivery.resource == "pods" && delivery.change == Change::Deleted;
    Role::of_client(&delivery.client) == Some(Role::Scheduler)
        && (is_freed || NEWS.contains(&&*delivery.resource))
}

fn is_list(request: &RequestFact) -> bool {
    request.verb == Verb::List
        && request.code == 200
        && Role::of_client(&request.client) == Some(Role::Scheduler)
        && NEWS.contains(&request.resource.as_str())
}
