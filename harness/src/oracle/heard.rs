//! Revisions that programs have observed: until watch events arrive, programs may act on old state.
//!
//! Does not know objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use capacity_types::capacity_api::{RESOURCE, VERSIONS};
use fake_apiserver::Verb;

use crate::journal::{Fact, What};
use crate::scenario::Role;

/// Resources that affect scheduling.
const OF_SCHEDULERS: [&str; 5] = ["csidrivers", "csinodes", RESOURCE, "nodes", "storageclasses"];

/// Resources that affect publishing. A publisher need not watch capacity objects of other clients, ...
const OF_PUBLISHERS: [&str; 3] = ["csinodes", "nodes", "storageclasses"];
/// ... and on a node it need not watch other nodes.
const OF_PUBLISHERS_ON_NODES: [&str; 1] = ["storageclasses"];

/// The API version of capacity objects in `group/version`. None if unknown.
fn known_version(text: &str) -> Option<&'static str> {
    let version = text.rsplit('/').next();
    VERSIONS.into_iter().find(|known| version == Some(known))
}

/// Revisions by resource.
type Revisions = BTreeMap<Arc<str>, u64>;

/// Resources that programs watch, with the last revision they observed, and the last committed revisions.
#[derive(Debug, Default)]
pub(super) struct Heard {
    written: Revisions,
    /// Whether each publisher publishes for its own node only. If not, the suffix of its client name is the replica number.
    is_distributed: bool,
    /// By client. Contains only resources that the client has listed since its start.
    heard: BTreeMap<Arc<str>, Revisions>,
    /// The API version in which a client last listed capacity objects.
    versions: BTreeMap<Arc<str>, &'static str>,
}

impl Heard {
    /// State before any program has read anything. `is_distributed`: each publisher publishes for its own node only.
    pub(super) fn new(is_distributed: bool) -> Self {
        Heard {
            is_distributed,
            ..Heard::default()
        }
    }

    /// Processes a fact.
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

    /// Sets the newest API version in which capacity objects are served: clients that use a newer version receive no events until they
    /// notice.
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

    /// Marks a resource as unread, as the server now serves additional fields without a commit: clients must receive the objects again.
    pub(super) fn shown_anew(&mut self, kind: &str) {
        let known = self.heard.values_mut().filter_map(|heard| heard.get_mut(kind));
        known.for_each(|revision| *revision = 0);
    }

    /// Whether a program has not yet received a change of a resource that it watches.
    pub(super) fn is_behind(&self) -> bool {
        let mut known = self.heard.values().flatten();
        known.any(|(kind, heard)| self.has_more(kind, *heard))
    }

    /// Whether the resource was changed after this revision.
    fn has_more(&self, kind: &str, heard: u64) -> bool {
        self.written.get(kind).is_some_and(|written| heard < *written)
    }

    /// Whether a program of the role has not yet received all changes of a resource that it watches.
    pub(super) fn misses(&self, role: Role, kind: &str) -> bool {
        let mut clients = self.heard.iter();
        clients.any(|(client, heard)| {
            let heard = heard.get(kind).filter(|_| Role::of_client(client) == Some(role));
            heard.is_some_and(|heard| self.has_more(kind, *heard))
        })
    }

    /// Whether a program of the role has listed the resource since its start.
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

    /// Resources that affect the client's decisions.
    fn decisive(&self, client: &str) -> &'static [&'static str] {
        match Role::of_client(client) {
            Some(Role::Scheduler) => &OF_SCHEDULERS,
            Some(Role::Publisher) if self.is_distributed => &OF_PUBLISHERS_ON_NODES,
            Some(Role::Publisher) => &OF_PUBLISHERS,
            _ => &[],
        }
    }
}

/// Never decreases, although a list may return an old revision.
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
        heard.observe(&serde_json::from_value(fact).expect("valid fact"));
    }

    #[test]
    fn a_resource_with_additional_fields_must_be_received_again() {
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
    fn an_undelivered_change_is_missing() {
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
    fn unwatched_resources_are_never_behind() {
        let mut heard = Heard::default();
        heard.shown_anew("csidrivers");
        assert!(!heard.is_behind());
    }

    #[test]
    fn replicas_watch_all_nodes_and_distributed_publishers_watch_none() {
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
