//! What programs have heard of: they may act on what was, as long as their watches have not told them what is.
//!
//! Knows revisions alone, and nothing of the objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use capacity_types::capacity_api::{RESOURCE, VERSIONS};
use fake_apiserver::Verb;

use crate::journal::{Fact, What};
use crate::scenario::Role;

/// The kinds whose changes decide where pods may go.
const OF_SCHEDULERS: [&str; 5] = ["csidrivers", "csinodes", RESOURCE, "nodes", "storageclasses"];

/// The kinds whose changes decide what is published. A publisher need not follow objects that are not its own, ...
const OF_PUBLISHERS: [&str; 3] = ["csinodes", "nodes", "storageclasses"];
/// ... nor, on a node, other nodes.
const OF_PUBLISHERS_ON_NODES: [&str; 1] = ["storageclasses"];

/// A version of the type, as `version` of a request has it after the group.
fn known_version(text: &str) -> Option<&'static str> {
    let version = text.rsplit('/').next();
    VERSIONS.into_iter().find(|known| version == Some(known))
}

/// Revisions by kind.
type Revisions = BTreeMap<Arc<str>, u64>;

/// The kinds that programs follow, each with the revision that they know, and the last one that there is.
#[derive(Debug, Default)]
pub(super) struct Heard {
    written: Revisions,
    /// Whether each publisher publishes for its own node alone. Elsewhere, what follows the role in a client's name numbers its replicas.
    is_distributed: bool,
    /// By client. A kind that it has not listed since it began is none that it follows.
    heard: BTreeMap<Arc<str>, Revisions>,
    /// The version in which a client has listed capacity objects last.
    versions: BTreeMap<Arc<str>, &'static str>,
}

impl Heard {
    /// Before any program has read anything. `is_distributed`: each publisher publishes for its own node alone.
    pub(super) fn new(is_distributed: bool) -> Self {
        Heard {
            is_distributed,
            ..Heard::default()
        }
    }

    /// Takes a fact in.
    pub(super) fn observe(&mut self, fact: &Fact) {
        match &fact.what {
            What::Commit(commit) if OF_SCHEDULERS.contains(&&*commit.resource) => {
                set(&mut self.written, &commit.resource, commit.revision);
            }
            What::Delivery(delivery) => {
                self.tell(&delivery.client, &delivery.resource, delivery.revision);
            }
            What::Request(request) if request.verb == Verb::List && request.code == 200 => {
                if let Some(revision) = request.revision {
                    self.tell(&request.client, &request.resource, revision);
                }
                let version = request
                    .version
                    .as_deref()
                    .filter(|_| request.resource == RESOURCE);
                if let Some(version) = version.and_then(known_version) {
                    self.versions.insert(request.client.clone(), version);
                }
            }
            What::Process(process) => drop(self.heard.remove(&process.client)),
            _ => {}
        }
    }

    /// Takes in the best version in which the server has capacity objects from now on: whoever follows them in a better one hears nothing
    /// until it has found that out.
    pub(super) fn served(&mut self, best: Option<&str>) {
        let is_gone = |version: &str| {
            VERSIONS
                .iter()
                .take_while(|it| Some(**it) != best)
                .any(|it| *it == version)
        };
        let lost = self.versions.iter().filter(|(_, version)| is_gone(version));
        for (client, _) in lost {
            if let Some(revision) = self
                .heard
                .get_mut(client)
                .and_then(|heard| heard.get_mut(RESOURCE))
            {
                *revision = 0;
            }
        }
    }

    /// Takes in that the server shows more of that kind from now on, without a change of an object: whoever follows it has read less, until
    /// it hears of it again.
    pub(super) fn shown_anew(&mut self, kind: &str) {
        let known = self.heard.values_mut().filter_map(|heard| heard.get_mut(kind));
        known.for_each(|revision| *revision = 0);
    }

    /// Whether a change is on its way to a program that follows its kind.
    pub(super) fn is_behind(&self) -> bool {
        let mut known = self.heard.values().flatten();
        known.any(|(kind, heard)| self.has_more(kind, *heard))
    }

    /// Whether a kind has changed since a revision.
    fn has_more(&self, kind: &str, heard: u64) -> bool {
        self.written.get(kind).is_some_and(|written| heard < *written)
    }

    /// Whether a program of a role has not heard of all changes of a kind that it follows.
    pub(super) fn misses(&self, role: Role, kind: &str) -> bool {
        let mut clients = self.heard.iter();
        clients.any(|(client, heard)| {
            let heard = heard.get(kind).filter(|_| Role::of_client(client) == Some(role));
            heard.is_some_and(|heard| self.has_more(kind, *heard))
        })
    }

    /// Whether a program of a role has read the objects of a kind since it began.
    pub(super) fn follows(&self, role: Role, kind: &str) -> bool {
        let mut clients = self.heard.iter();
        clients.any(|(client, heard)| Role::of_client(client) == Some(role) && heard.contains_key(kind))
    }

    fn tell(&mut self, client: &Arc<str>, kind: &str, revision: u64) {
        if !self.decisive(client).contains(&kind) {
            return;
        }
        match self.heard.get_mut(client) {
            Some(heard) => set(heard, kind, revision),
            None => set(self.heard.entry(client.clone()).or_default(), kind, revision),
        }
    }

    /// The kinds whose changes decide what a client does.
    fn decisive(&self, client: &str) -> &'static [&'static str] {
        match Role::of_client(client) {
            Some(Role::Scheduler) => &OF_SCHEDULERS,
            Some(Role::Publisher) if self.is_distributed => &OF_PUBLISHERS_ON_NODES,
            Some(Role::Publisher) => &OF_PUBLISHERS,
            _ => &[],
        }
    }
}

/// Revisions only grow, but a list may be from the past.
fn set(revisions: &mut Revisions, kind: &str, revision: u64) {
    match revisions.get_mut(kind) {
        Some(known) => *known = revision.max(*known),
        None => drop(revisions.insert(kind.into(), revision)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn observe(heard: &mut Heard, what: &Value) {
        let fact = json!({"seq": 0, "at_us": 0, "what": what});
        heard.observe(&serde_json::from_value(fact).expect("it is a fact"));
    }

    #[test]
    fn who_has_read_an_object_of_a_server_that_shows_less_has_to_hear_of_it_again() {
        let mut heard = Heard::default();
        let driver = json!({"fact": "commit", "client": "harness", "change": "added", "resource": "csidrivers", "namespace": null,
            "name": "disk.example.com", "revision": 5, "object": {}});
        let list = json!({"fact": "request", "client": "scheduler", "verb": "list", "resource": "csidrivers", "namespace": null,
            "name": null, "code": 200, "message": null, "revision": 7});
        let delivery = json!({"fact": "delivery", "client": "scheduler", "change": "modified", "resource": "csidrivers",
            "namespace": null, "name": "disk.example.com", "revision": 5});
        observe(&mut heard, &driver);
        observe(&mut heard, &list);
        assert!(!heard.is_behind());
        heard.shown_anew("csidrivers");
        assert!(heard.is_behind());
        observe(&mut heard, &delivery);
        assert!(!heard.is_behind());
    }

    #[test]
    fn a_change_that_was_not_delivered_is_missed() {
        let mut heard = Heard::default();
        let list = json!({"fact": "request", "client": "scheduler", "verb": "list", "resource": RESOURCE, "namespace": null,
            "name": null, "code": 200, "message": null, "revision": 7});
        let object = json!({"fact": "commit", "client": "harness", "change": "added", "resource": RESOURCE, "namespace": "csi",
            "name": "by-hand-1", "revision": 8, "object": {}});
        let delivery = json!({"fact": "delivery", "client": "scheduler", "change": "added", "resource": RESOURCE,
            "namespace": "csi", "name": "by-hand-1", "revision": 8});
        for (fact, misses) in [(list, false), (object, true), (delivery, false)] {
            observe(&mut heard, &fact);
            assert_eq!(heard.misses(Role::Scheduler, RESOURCE), misses, "{fact}");
            assert!(!heard.misses(Role::Publisher, RESOURCE));
        }
    }

    #[test]
    fn what_a_program_does_not_follow_is_no_news_to_it() {
        let mut heard = Heard::default();
        heard.shown_anew("csidrivers");
        assert!(!heard.is_behind());
    }

    #[test]
    fn a_replica_follows_all_nodes_and_a_publisher_on_a_node_follows_none() {
        let list = json!({"fact": "request", "client": "publisher@1", "verb": "list", "resource": "nodes", "namespace": null, "name": null,
            "code": 200, "message": null, "revision": 3});
        let node = json!({"fact": "commit", "client": "harness", "change": "modified", "resource": "nodes", "namespace": null,
            "name": "n1", "revision": 4, "object": {}});
        for is_distributed in [false, true] {
            let mut heard = Heard::new(is_distributed);
            observe(&mut heard, &list);
            observe(&mut heard, &node);
            assert_eq!(heard.is_behind(), !is_distributed);
        }
    }
}
