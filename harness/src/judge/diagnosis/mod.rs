//! The causal chain of a failed expectation: each link is a fact that had to happen, and the first one without evidence is
//! where the system stopped.
//!
//! A chain turns "timed out" into "the publisher saw CSINode n3 but never called GetCapacity for it". Links only read the
//! journal; what is true is decided elsewhere.

mod capacities;
mod claims;
mod placement;
mod room;

use std::collections::BTreeMap;

use capacity_types::Labels;
use serde_json::Value;

use super::rows::{DiffRow, RowState, Subject};
use super::{objects, pattern};
use crate::cluster_state::ClusterState;
use crate::journal::{Change, CommitFact, Fact, ProcessEvent, RequestFact, What};
use crate::plan::{CallPattern, Objects, Pattern, PatternKind, Plan, Predicate};
use crate::scenario::{Role, Speaker};

/// One link.
#[derive(Debug, Clone)]
pub struct Link {
    /// What had to happen.
    pub text: String,
    /// The fact that shows it; none: no evidence.
    pub fact: Option<u64>,
    /// What was seen instead, or as well.
    pub note: String,
}

/// Links in causal order.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    /// The links.
    pub links: Vec<Link>,
}

impl Chain {
    fn found(&mut self, text: impl Into<String>, fact: &Fact) -> &mut Self {
        self.links.push(Link {
            text: text.into(),
            fact: Some(fact.seq),
            note: String::new(),
        });
        self
    }

    fn missing(&mut self, text: impl Into<String>, note: impl Into<String>) -> &mut Self {
        self.links.push(Link {
            text: text.into(),
            fact: None,
            note: note.into(),
        });
        self
    }

    /// Adds a link with its evidence, or without.
    fn link(
        &mut self,
        text: impl Into<String>,
        evidence: Option<&Fact>,
        otherwise: impl Into<String>,
    ) -> bool {
        match evidence {
            Some(fact) => self.found(text, fact),
            None => self.missing(text, otherwise),
        };
        evidence.is_some()
    }

    /// The first link without evidence.
    pub fn first_missing(&self) -> Option<&Link> {
        self.links.iter().find(|link| link.fact.is_none())
    }
}

/// The part of a journal that a chain is about.
pub(super) struct Window<'a> {
    pub(super) plan: &'a Plan,
    pub(super) cluster: &'a ClusterState,
    pub(super) facts: &'a [Fact],
    /// Where the step began.
    pub(super) from: u64,
}

impl<'a> Window<'a> {
    /// The chain of an expectation that failed; with how many facts were seen, and may be.
    pub(super) fn chain(
        &self,
        predicate: &Predicate,
        rows: &[DiffRow],
        (seen, limit): (u64, Option<u64>),
        decided_by: u64,
    ) -> Chain {
        let wrong = rows.iter().find(|row| row.state != RowState::Same);
        if let Some(row) = wrong {
            return self.row_chain(predicate, row);
        }
        match predicate {
            Predicate::Never { of, after } => self.never_chain(of, after.as_deref(), decided_by),
            Predicate::Count(count) if limit.is_some_and(|limit| seen > limit) => {
                let limit = limit.unwrap_or_default();
                self.offence_chain(
                    &format!("at most {limit} × {}", pattern::format(&count.of)),
                    decided_by,
                )
            }
            Predicate::Count(count) => {
                let mut chain = Chain::default();
                let text = format!("{} × {}", count.min, pattern::format(&count.of));
                let seen = super::summary::format_seen(seen);
                chain.missing(text, format!("{seen}{}", self.otherwise(&count.of)));
                chain
            }
            Predicate::Order(list) => self.order_chain(list),
            Predicate::Ends(roles) => self.end_chain(roles, decided_by),
            _ => Chain::default(),
        }
    }

    /// Where the driver's socket has refused requests and no call was answered, nothing later in a chain could come about.
    pub(super) fn put_refused_calls_first(&self, chain: &mut Chain) {
        let is_answered = |fact: &Fact| matches!(&fact.what, What::Call(call) if call.code == "OK");
        let mut refused = self
            .facts
            .iter()
            .filter(|fact| matches!(fact.what, What::Refused(_)));
        if let Some(first) = refused.next()
            && !self.facts.iter().any(is_answered)
        {
            let count = 1 + refused.count();
            let link = Link {
                text: "the driver answers a call".to_owned(),
                fact: None,
                note: format!("never, {count} × refused: {}", crate::fact_display::format(first)),
            };
            chain.links.insert(0, link);
        }
    }

    /// The chain of a row that is not as wanted.
    fn row_chain(&self, predicate: &Predicate, row: &DiffRow) -> Chain {
        match (predicate, &row.subject) {
            (Predicate::Capacities(wanted), Subject::Capacity { class, segment }) => {
                let want = wanted.get(&(class.clone(), segment.clone()));
                self.capacity_chain(want.copied(), class, segment, row.state)
            }
            (Predicate::Placement(wanted), Subject::Pod(pod)) => wanted
                .get(pod)
                .map_or_else(Chain::default, |want| self.placement_chain(pod, want)),
            (Predicate::Refusal(wanted), Subject::Pod(pod)) => {
                let want = wanted.get(pod).map_or("", |text| text.as_str());
                self.refusal_chain(pod, want, &row.got)
            }
            (Predicate::Claims(wanted), Subject::Claim(claim)) => wanted
                .get(claim)
                .map_or_else(Chain::default, |want| self.claim_chain(claim, *want, row)),
            (Predicate::Answers(_), Subject::Answer { answer, figure }) => {
                self.answer_chain(answer, figure, row)
            }
            (Predicate::Served(_), Subject::Resource(resource)) => self.served_chain(resource, row),
            (Predicate::Metrics(_), Subject::Metric { of, series }) => self.metric_chain(*of, series, row),
            (Predicate::Objects(list), Subject::Number { of, selection }) => {
                self.number_chain(list.get(*of), selection, row)
            }
            (Predicate::Objects(list), Subject::Object { resource, name }) => {
                self.object_chain(list, resource, name, row)
            }
            _ => Chain::default(),
        }
    }

    /// The last fact that is as wanted but for its answer, or for what a call carries.
    fn otherwise(&self, wanted: &Pattern) -> String {
        let mut any = wanted.clone();
        match &mut any.kind {
            PatternKind::Request { code, .. } => *code = None,
            PatternKind::Call(call) => {
                **call = CallPattern {
                    method: call.method.clone(),
                    segment: call.segment.clone(),
                    ..CallPattern::default()
                }
            }
            _ => return String::new(),
        }
        let found = self
            .step()
            .filter(|fact| pattern::matches(self.plan, &any, fact))
            .last();
        found.map_or_else(String::new, |fact| {
            format!("; instead: {}", crate::fact_display::format(fact))
        })
    }

    /// All facts of the step.
    fn step(&self) -> impl Iterator<Item = &'a Fact> {
        let from = self.from;
        self.facts.iter().filter(move |fact| fact.seq >= from)
    }

    /// The last commit in the whole journal that satisfies a test.
    fn last_commit(&self, test: impl Fn(&CommitFact) -> bool) -> Option<(&'a Fact, &'a CommitFact)> {
        self.facts.iter().rev().find_map(|fact| match &fact.what {
            What::Commit(commit) if test(commit) => Some((fact, commit)),
            _ => None,
        })
    }

    /// The fact by which a role got to know a commit: a watch event, or a list that is at least as new.
    fn delivery(&self, role: Role, committed: &CommitFact) -> Option<&'a Fact> {
        self.facts.iter().find(|fact| match &fact.what {
            What::Delivery(delivery) => {
                Role::of_client(&delivery.client) == Some(role)
                    && delivery.resource == committed.resource
                    && delivery.name == committed.name
                    && delivery.revision >= committed.revision
            }
            What::Request(request) => self.is_state(request, role, committed),
            _ => false,
        })
    }

    /// Whether the answer is the state of things after a change: a list, or, as it delivers what is there and not what is gone, the
    /// beginning of a watch.
    fn is_state(&self, request: &RequestFact, role: Role, committed: &CommitFact) -> bool {
        let is_gone = committed.change == Change::Deleted;
        Role::of_client(&request.client) == Some(role)
            && (request.verb == "list" || (is_gone && request.verb == "watch" && request.code == 200))
            && *request.resource == *committed.resource
            && request
                .revision
                .is_some_and(|revision| revision >= committed.revision)
    }

    /// The last request of a role in this step that was refused.
    fn refused_request(&self, role: Role, resource: &str) -> Option<&'a RequestFact> {
        let of_role = |request: &RequestFact| {
            Role::of_client(&request.client) == Some(role)
                && request.resource == resource
                && request.code >= 400
        };
        let requests = self.step().filter_map(|fact| match &fact.what {
            What::Request(request) => Some(request),
            _ => None,
        });
        requests.filter(|request| of_role(request)).last()
    }

    /// The driver was called, and answered; the answer is not as it must be.
    fn answer_chain(&self, name: &str, figure: &str, row: &DiffRow) -> Chain {
        let mut chain = Chain::default();
        let Some((seq, answer)) = self.cluster.answer(name) else {
            chain.missing(format!("the driver is asked as {name}"), "never");
            return chain;
        };
        let told = self.facts.iter().find(|fact| fact.seq == *seq);
        chain.link(
            format!("the driver answered {} as {name}", answer.call),
            told,
            "never",
        );
        let message = answer.message.as_deref().map(|text| format!(": {text}"));
        let note = format!("it is {}{}", row.got, message.unwrap_or_default());
        chain.missing(format!("{name}.{figure} is {}", row.want), note);
        chain
    }

    /// A role had to end by itself, and has not, or with other words.
    fn end_chain(&self, roles: &BTreeMap<Role, String>, decided_by: u64) -> Chain {
        let mut chain = Chain::default();
        let has_ended = |fact: &&Fact, role: Role| {
            matches!(&fact.what, What::Process(process)
                if process.role == role && matches!(process.event, ProcessEvent::Exited(_)))
        };
        for (role, words) in roles {
            let ended = self.step().find(|fact| has_ended(fact, *role));
            let role = role.as_str();
            if !chain.link(format!("the {role} ends by itself"), ended, "it goes on") {
                break;
            }
            if let Some(fact) = ended.filter(|fact| fact.seq == decided_by) {
                let note = crate::fact_display::format(fact);
                chain.missing(format!("the {role} ends with “{words}”"), note);
            }
        }
        chain
    }

    /// The API server was asked what it serves; it answered something else.
    fn served_chain(&self, resource: &str, row: &DiffRow) -> Chain {
        let mut chain = Chain::default();
        let asked = self.cluster.served(resource);
        let asked = asked.and_then(|(seq, _)| self.facts.iter().find(|fact| fact.seq == *seq));
        if chain.link(format!("the API server is asked for {resource}"), asked, "never") {
            chain.missing(
                format!("{resource} is served as {}", row.want),
                format!("it is {}", row.got),
            );
        }
        chain
    }

    /// The metrics were read; what they say is not as it must be.
    fn metric_chain(&self, of: Speaker, series: &str, row: &DiffRow) -> Chain {
        let mut chain = Chain::default();
        let who = of.as_str();
        let metrics = self.cluster.metrics().filter(|(seq, _)| *seq >= self.from);
        let read = metrics.and_then(|(seq, _)| self.facts.iter().find(|fact| fact.seq == *seq));
        if chain.link(format!("the metrics of the {who} are read"), read, "never") {
            let note = match metrics {
                Some((_, fact)) if row.state == RowState::Missing => super::metrics::instead(fact, of),
                _ => format!("it is {}", row.got),
            };
            chain.missing(format!("{who} {series} is {}", row.want), note);
        }
        chain
    }

    /// What happened must not have: the link is the rule, the note says who broke it.
    pub(super) fn offence_chain(&self, rule: &str, decided_by: u64) -> Chain {
        let mut chain = Chain::default();
        let offender = self.facts.iter().find(|fact| fact.seq == decided_by);
        let note = offender.map_or_else(|| "never seen".to_owned(), crate::fact_display::format);
        chain.missing(rule, note);
        chain
    }

    /// What must not happen is forbidden from that fact on: without it, nothing was.
    fn never_chain(&self, of: &Pattern, after: Option<&Pattern>, decided_by: u64) -> Chain {
        let rule = format!("no {}", pattern::format(of));
        let Some(after) = after else {
            return self.offence_chain(&rule, decided_by);
        };
        let mut chain = Chain::default();
        let begun = self.step().find(|fact| pattern::matches(self.plan, after, fact));
        let otherwise = format!("never seen{}", self.otherwise(after));
        if chain.link(pattern::format(after), begun, otherwise) {
            chain.links.extend(self.offence_chain(&rule, decided_by).links);
        }
        chain
    }

    fn order_chain(&self, list: &[Pattern]) -> Chain {
        let mut chain = Chain::default();
        let mut facts = self.step();
        for pattern in list {
            let evidence = facts.find(|fact| pattern::matches(self.plan, pattern, fact));
            if !chain.link(
                pattern::format(pattern),
                evidence,
                "never, after the facts before it",
            ) {
                break;
            }
        }
        chain
    }

    /// There are too few or too many objects.
    fn number_chain(&self, meant: Option<&Objects>, selection: &str, row: &DiffRow) -> Chain {
        let mut chain = Chain::default();
        let names = meant.map_or_else(Vec::new, |want| objects::selected_names(self.cluster, want));
        let note = match names.as_slice() {
            [] => "there is none".to_owned(),
            names => format!("there are {}: {}", names.len(), names.join(", ")),
        };
        chain.missing(format!("{} × {selection}", row.want), note);
        chain
    }

    /// A client deleted an object that is gone, and wrote one that differs.
    fn object_chain(&self, list: &[Objects], resource: &str, name: &str, row: &DiffRow) -> Chain {
        let mut chain = Chain::default();
        let subject = format!("{resource} {name}");
        let is_meant = |commit: &CommitFact| *commit.resource == *resource && commit.name == name;
        let what = if row.state == RowState::Missing {
            "exists"
        } else {
            "is as wanted"
        };
        let last = self.last_commit(is_meant);
        if let Some((fact, commit)) = last {
            if commit.change == Change::Deleted {
                chain.found(format!("{subject} was deleted by {}", commit.client), fact);
                chain.missing(
                    format!("{subject} is kept"),
                    format!("deleted by {}", commit.client),
                );
            } else {
                chain.found(format!("{subject} was written by {}", commit.client), fact);
                chain.missing(format!("{subject} {what}"), format!("got {}", row.got));
            }
        } else {
            let number = list.iter().filter(|want| want.resource == resource).count();
            let note = format!("got {} ({number} expectation(s) about {resource})", row.got);
            chain.missing(format!("{subject} {what}"), note);
        }
        chain
    }
}

/// The labels of an object; none: it has none.
fn labels(object: &Value) -> Option<Labels> {
    let labels = object["metadata"]["labels"].as_object()?;
    let labels = labels.iter();
    let texts = labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()));
    Some(texts.collect())
}
