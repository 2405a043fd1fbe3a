//! Whether the systems have had their say: what is needed before something that must *not* happen counts as not happening.
//!
//! A refusal, or an object that is not there, proves nothing while figures are on their way. A publisher has had its say when it has
//! called GetCapacity again often enough to have seen what the step has changed; a scheduler, when it has decided about each pod after
//! the last event that could change its mind. One that never does so gets the time of a bound, which is the monitor's.

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

/// A call may have begun before the change, and the one after it belongs to the refresh that sees it. The third begins only when all of
/// the second refresh have been made.
const CALLS: u64 = 3;

/// The calls of the Identity service, with which a publisher begins.
const IDENTITY: [Method; 3] = [
    Method::Probe,
    Method::GetPluginInfo,
    Method::GetPluginCapabilities,
];

/// Which systems run, and what schedulers have heard.
#[derive(Debug, Default)]
pub(super) struct Scene {
    running: BTreeMap<Arc<str>, Role>,
    /// Programs that have made no request since they started, with the journal time of that.
    starting: BTreeMap<Arc<str>, u64>,
    /// In the order of their facts.
    news: Vec<News>,
    /// Journal time of the last GetCapacity call.
    pub(super) asked_us: u64,
    /// What the driver has answered last to each question, by the hash of the question.
    answers: HashMap<u64, Answer>,
    /// Journal time of the last fact that shows that something moves.
    pub(super) moved_us: u64,
    /// Errors after which systems may wait before they try again.
    pub(super) troubles: Troubles,
    /// How long the harness was late so far, in sum.
    pub(super) late: Duration,
}

/// The capacity, and the largest volume.
type Answer = (Option<i64>, Option<i64>);

/// The hash of what a call asks about.
fn question(call: &CallFact) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&call.segment, &call.parameters).hash(&mut hasher);
    hasher.finish()
}

/// Something that a scheduler has heard.
#[derive(Debug)]
struct News {
    seq: u64,
    change: Change,
    resource: Arc<str>,
    /// None: a whole list.
    name: Option<String>,
}

impl Scene {
    /// Takes one fact in.
    pub(super) fn apply(&mut self, fact: &Fact) {
        if fact.what.is_motion() || matches!(fact.what, What::Request(_)) {
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
                // Whoever hears something new acts on it.
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

    /// A request ends the start of its client. The driver does not know who calls it: a call of its Identity service, which the harness does
    /// not make for cases about capacity, ends the start of the publishers of its node.
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

    /// Journal time at which the last program started that has made no request since.
    pub(super) fn starting_us(&self) -> Option<u64> {
        self.starting.values().copied().max()
    }

    fn runs(&self, role: Role) -> bool {
        self.running.values().any(|running| *running == role)
    }

    /// Whether the publisher has called GetCapacity often enough since `before`; one that does not poll need not.
    pub(super) fn has_asked(&self, plan: &Plan, cluster: &ClusterState, before: &Rounds) -> bool {
        let polls = plan.publisher.polls && self.runs(Role::Publisher);
        !polls || cluster.rounds().calls_since(before) >= CALLS
    }

    /// Whether the scheduler has decided, knowing what it knows now, about each pod that the expectation says something negative of.
    pub(super) fn has_decided(
        &self,
        cluster: &ClusterState,
        predicate: &Predicate,
        step_started: u64,
    ) -> bool {
        let subjects = predicate.kind().pods(cluster);
        self.decides_about(cluster, |name| match &subjects {
            // What was refused in an earlier step was refused for the reasons of that step.
            Some(subjects) if subjects.contains(name) => Some(step_started),
            Some(_) => None,
            None => Some(0),
        })
    }

    /// Whether the scheduler has decided, knowing what it knows now, about every pod, and goes on by itself with none.
    pub(super) fn has_decided_all(&self, cluster: &ClusterState) -> bool {
        let goes_on = self.runs(Role::Scheduler) && cluster.waiting().any(|(_, pod)| is_given_back(pod));
        !goes_on && self.decides_about(cluster, |_| Some(0))
    }

    /// Whether no claim waits for a publisher to make its volume.
    pub(super) fn has_provisioned_all(&self, cluster: &ClusterState) -> bool {
        !self.runs(Role::Publisher) || !cluster.has_unbound_claims()
    }

    /// Whether the scheduler has refused every pod that waits, at some time.
    pub(super) fn has_refused_all(&self, cluster: &ClusterState) -> bool {
        let mut waiting = cluster.waiting();
        waiting.all(|(name, _)| cluster.refusal(name).is_some())
    }

    /// `since`: from which fact on a refusal of a pod counts; none: no refusal is needed.
    fn decides_about(&self, cluster: &ClusterState, since: impl Fn(&String) -> Option<u64>) -> bool {
        !self.runs(Role::Scheduler)
            || cluster.waiting().all(|(name, pod)| {
                since(name).is_none_or(|since| {
                    let refused = cluster.refusal(name).map(|refusal| refusal.seq);
                    refused.is_some_and(|at| at >= since && !self.is_news_for(cluster, pod, at))
                })
            })
    }

    /// Whether the scheduler has heard something after a fact that could let it place the pod.
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
