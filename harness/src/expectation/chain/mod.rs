//! The causal chain of a failed expectation. Each link is an event that had to happen; the first link without evidence shows where the
//! pipeline stopped.
//!
//! A chain turns "timed out" into "the publisher received CSINode n3 but never called GetCapacity for it". Chains only read the journal;
//! they do not affect the verdict.

mod capacities;
mod claims;
pub(super) mod placement;
mod sufficient_capacity;

use capacity_types::{Labels, Segment};
use fake_apiserver::Verb;
use serde_json::Value;

use crate::cluster_state::ClusterState;
use crate::journal::{Change, CommitFact, Fact, Observation, RequestFact};
use crate::plan::Case;
use crate::scenario::Role;

/// An event that had to happen so that an expectation holds, and the fact that proves the event.
#[derive(Debug, Clone)]
pub struct Link {
    /// Text that describes the event, such as `pod app rejected by the scheduler`.
    pub text: String,
    /// Sequence number of the fact that proves the event. None if no such fact exists.
    pub fact: Option<u64>,
    /// What was observed if no fact proves the event, or additional details.
    pub note: String,
    /// Whether the link is a rule that a fact violated, so that nothing is missing.
    pub is_violation: bool,
}

/// The causal chain of one expectation: the events that had to happen so that the expectation holds.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    /// The events in causal order.
    pub links: Vec<Link>,
}

impl Chain {
    pub(super) fn add_proven_link(&mut self, text: impl Into<String>, fact: &Fact) -> &mut Self {
        self.links.push(Link {
            text: text.into(),
            fact: Some(fact.seq),
            note: String::new(),
            is_violation: false,
        });
        self
    }

    pub(super) fn add_missing_link(&mut self, text: impl Into<String>, note: impl Into<String>) -> &mut Self {
        self.links.push(Link {
            text: text.into(),
            fact: None,
            note: note.into(),
            is_violation: false,
        });
        self
    }

    /// Adds an event to the causal chain. `otherwise`: the note if no fact proves the event. Returns whether a fact proves it.
    pub(super) fn add_link(
        &mut self,
        text: impl Into<String>,
        evidence: Option<&Fact>,
        otherwise: impl Into<String>,
    ) -> bool {
        match evidence {
            Some(fact) => self.add_proven_link(text, fact),
            None => self.add_missing_link(text, otherwise),
        };
        evidence.is_some()
    }

    /// The first event of the causal chain that no fact proves.
    pub fn first_missing(&self) -> Option<&Link> {
        self.links.iter().find(|link| link.fact.is_none())
    }
}

/// The facts and the case data from which a causal chain is built.
pub(crate) struct Window<'a> {
    pub(crate) case: &'a Case,
    /// Whether API server and scheduler have their default versions and feature gates in all steps, so that the scheduler checks capacity.
    pub(crate) is_default_release: bool,
    /// Segments to which a later step adds a pool.
    pub(crate) later_pools: Vec<&'a Segment>,
    pub(crate) cluster: &'a ClusterState,
    pub(crate) facts: &'a [Fact],
    /// Sequence number of the fact that starts the step.
    pub(crate) from: u64,
}

impl<'a> Window<'a> {
    /// If the driver's socket rejected calls and the driver never answered one, no later event of the causal chain can have evidence, so
    /// the rejected calls become the first event.
    pub(crate) fn put_rejected_calls_first(&self, chain: &mut Chain) {
        let is_answered = |fact: &Fact| matches!(&fact.what, Observation::Call(call) if call.code == "OK");
        let mut refused = self
            .facts
            .iter()
            .filter(|fact| matches!(fact.what, Observation::Refused(_)));
        if let Some(first) = refused.next()
            && !self.facts.iter().any(is_answered)
        {
            let count = 1 + refused.count();
            let link = Link {
                text: "the driver answers a call".to_owned(),
                fact: None,
                note: format!(
                    "never, {count} × refused: {}",
                    crate::fact_display::format_fact(first)
                ),
                is_violation: false,
            };
            chain.links.insert(0, link);
        }
    }

    pub(super) fn fact(&self, seq: u64) -> Option<&'a Fact> {
        self.facts.iter().find(|fact| fact.seq == seq)
    }

    pub(super) fn step(&self) -> impl Iterator<Item = &'a Fact> {
        let from = self.from;
        self.facts.iter().filter(move |fact| fact.seq >= from)
    }

    /// The last commit in the whole journal for which `test` returns true.
    pub(super) fn last_commit(
        &self,
        test: impl Fn(&CommitFact) -> bool,
    ) -> Option<(&'a Fact, &'a CommitFact)> {
        self.facts.iter().rev().find_map(|fact| match &fact.what {
            Observation::Commit(commit) if test(commit) => Some((fact, commit)),
            _ => None,
        })
    }

    /// Note for a change that was never delivered to a role. Names the reason if no program of the role runs in the case.
    fn format_missing_delivery(&self, role: Role) -> String {
        match self.case.roles.contains(&role) {
            true => "never".to_owned(),
            false => format!(
                "no {} runs in this case; list it in `cluster.roles`, or begin the id of the case with `story/`",
                role.as_str()
            ),
        }
    }

    /// Adds to the causal chain the delivery of a commit to a role. Returns whether the commit was delivered.
    fn delivery_link(
        &self,
        chain: &mut Chain,
        text: impl Into<String>,
        role: Role,
        committed: &CommitFact,
    ) -> bool {
        chain.add_link(
            text,
            self.delivery(role, committed),
            self.format_missing_delivery(role),
        )
    }

    /// The fact that informed a role about a commit: its watch event, or a list response of the same or a later revision.
    fn delivery(&self, role: Role, committed: &CommitFact) -> Option<&'a Fact> {
        self.facts.iter().find(|fact| match &fact.what {
            Observation::Delivery(delivery) => {
                Role::of_client(&delivery.client) == Some(role)
                    && delivery.resource == committed.resource
                    && delivery.name == committed.name
                    && delivery.revision >= committed.revision
            }
            Observation::Request(request) => self.is_snapshot_of(request, role, committed),
            _ => false,
        })
    }

    /// Whether the response to a list request of the role reflects the commit. For a deletion, the start of a watch counts too, because a
    /// new watch sends only existing objects.
    fn is_snapshot_of(&self, request: &RequestFact, role: Role, committed: &CommitFact) -> bool {
        let is_deletion = committed.change == Change::Deleted;
        Role::of_client(&request.client) == Some(role)
            && (request.verb == Verb::List
                || (is_deletion && request.verb == Verb::Watch && request.code == 200))
            && *request.resource == *committed.resource
            && request
                .revision
                .is_some_and(|revision| revision >= committed.revision)
    }

    /// The last failed request (HTTP status 400 or above) of a role for the resource in this step.
    fn failed_request(&self, role: Role, resource: &str) -> Option<&'a RequestFact> {
        let of_role = |request: &RequestFact| {
            Role::of_client(&request.client) == Some(role)
                && request.resource == resource
                && request.code >= 400
        };
        let requests = self.step().filter_map(|fact| match &fact.what {
            Observation::Request(request) => Some(request),
            _ => None,
        });
        requests.filter(|request| of_role(request)).last()
    }

    /// The causal chain of a `never` expectation: the only event is the rule, and its note is the fact that violated the rule.
    pub(crate) fn violation_chain(&self, rule: &str, decided_by: u64) -> Chain {
        let offender = self.fact(decided_by);
        let link = Link {
            text: rule.to_owned(),
            fact: None,
            note: offender.map_or_else(|| "never seen".to_owned(), crate::fact_display::format_fact),
            is_violation: offender.is_some(),
        };
        Chain { links: vec![link] }
    }
}

/// The labels of an object. None if it has no labels.
fn labels(object: &Value) -> Option<Labels> {
    let labels = object["metadata"]["labels"].as_object()?;
    let labels = labels.iter();
    let texts = labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()));
    Some(texts.collect())
}
