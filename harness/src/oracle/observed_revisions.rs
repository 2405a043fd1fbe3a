//! The revisions that programs have received. Until a program receives a watch event, it may act on the old state.
//!
//! Does not know objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use capacity_types::capacity_api::{RESOURCE, VERSIONS};
use fake_apiserver::Verb;

use crate::journal::{Fact, Observation};
use crate::scenario::Role;

const SCHEDULER_RESOURCES: [&str; 5] = ["csidrivers", "csinodes", RESOURCE, "nodes", "storageclasses"];

/// Resources whose objects affect a central publisher, which need not watch the CSIStorageCapacity objects of other clients.
const PUBLISHER_RESOURCES: [&str; 3] = ["csinodes", "nodes", "storageclasses"];
/// Resources that affect a distributed publisher. It need watch neither other nodes nor the CSIStorageCapacity objects of other clients.
const NODE_PUBLISHER_RESOURCES: [&str; 1] = ["storageclasses"];

/// The constant for an API version of CSIStorageCapacity such as `storage.k8s.io/v1`. None if the version is unknown.
fn known_version(text: &str) -> Option<&'static str> {
    let version = text.rsplit('/').next();
    VERSIONS.into_iter().find(|known| version == Some(known))
}

/// A revision (resourceVersion) for each resource.
type Revisions = BTreeMap<Arc<str>, u64>;

/// The last committed revision of each resource, and the last revision that each program has received.
#[derive(Debug, Default)]
pub(super) struct ObservedRevisions {
    committed: Revisions,
    /// Whether each publisher publishes for its own node only. If not, the suffix of a publisher's client name is a replica number.
    is_distributed: bool,
    /// The last received revisions by client. Contains only resources of which the client has received a list or events since its start.
    observed: BTreeMap<Arc<str>, Revisions>,
    /// The API version in which a client last listed CSIStorageCapacity objects.
    versions: BTreeMap<Arc<str>, &'static str>,
}

impl ObservedRevisions {
    /// The state before any program has received an object. `is_distributed`: whether each publisher publishes for its own node only.
    pub(super) fn new(is_distributed: bool) -> Self {
        ObservedRevisions {
            is_distributed,
            ..ObservedRevisions::default()
        }
    }

    pub(super) fn observe(&mut self, fact: &Fact) {
        match &fact.what {
            Observation::Commit(commit) if SCHEDULER_RESOURCES.contains(&&*commit.resource) => {
                set(&mut self.committed, &commit.resource, commit.revision);
            }
            Observation::Delivery(delivery) => {
                self.record(&delivery.client, &delivery.resource, delivery.revision);
            }
            Observation::Request(request) if request.verb == Verb::List && request.code == 200 => {
                if let Some(revision) = request.revision {
                    self.record(&request.client, &request.resource, revision);
                }
                let version = request
                    .version
                    .as_deref()
                    .filter(|_| request.resource == RESOURCE);
                if let Some(version) = version.and_then(known_version) {
                    self.versions.insert(request.client.clone(), version);
                }
            }
            Observation::Process(process) => drop(self.observed.remove(&process.client)),
            _ => {}
        }
    }

    /// Sets the newest API version in which CSIStorageCapacity objects are served. A client that used a newer version receives no events
    /// until it lists the objects in a served version.
    pub(super) fn set_newest_version(&mut self, newest: Option<&str>) {
        let is_unserved = |version: &str| {
            VERSIONS
                .iter()
                .take_while(|it| Some(**it) != newest)
                .any(|it| *it == version)
        };
        let unserved = self.versions.iter().filter(|(_, version)| is_unserved(version));
        for (client, _) in unserved {
            if let Some(revision) = self
                .observed
                .get_mut(client)
                .and_then(|observed| observed.get_mut(RESOURCE))
            {
                *revision = 0;
            }
        }
    }

    /// Marks a resource as not received by any client. Called when the server starts to serve another field, which causes no commit.
    pub(super) fn mark_unread(&mut self, resource: &str) {
        let known = self
            .observed
            .values_mut()
            .filter_map(|observed| observed.get_mut(resource));
        known.for_each(|revision| *revision = 0);
    }

    /// Whether any program has not yet received a change of a resource that it watches.
    pub(super) fn is_behind(&self) -> bool {
        let mut known = self.observed.values().flatten();
        known.any(|(resource, observed)| self.changed_after(resource, *observed))
    }

    fn changed_after(&self, resource: &str, observed: u64) -> bool {
        self.committed
            .get(resource)
            .is_some_and(|committed| observed < *committed)
    }

    pub(super) fn has_undelivered_change(&self, role: Role, resource: &str) -> bool {
        let mut clients = self.observed.iter();
        clients.any(|(client, observed)| {
            let observed = observed
                .get(resource)
                .filter(|_| Role::of_client(client) == Some(role));
            observed.is_some_and(|observed| self.changed_after(resource, *observed))
        })
    }

    /// Whether a program of the role has listed the resource since its start.
    pub(super) fn has_listed(&self, role: Role, resource: &str) -> bool {
        let mut clients = self.observed.iter();
        clients.any(|(client, observed)| {
            Role::of_client(client) == Some(role) && observed.contains_key(resource)
        })
    }

    fn record(&mut self, client: &Arc<str>, resource: &str, revision: u64) {
        if !self.relevant_resources(client).contains(&resource) {
            return;
        }
        match self.observed.get_mut(client) {
            Some(observed) => set(observed, resource, revision),
            None => set(
                self.observed.entry(client.clone()).or_default(),
                resource,
                revision,
            ),
        }
    }

    fn relevant_resources(&self, client: &str) -> &'static [&'static str] {
        match Role::of_client(client) {
            Some(Role::Scheduler) => &SCHEDULER_RESOURCES,
            Some(Role::Publisher) if self.is_distributed => &NODE_PUBLISHER_RESOURCES,
            Some(Role::Publisher) => &PUBLISHER_RESOURCES,
            _ => &[],
        }
    }
}

/// Sets the revision of a resource unless the stored revision is newer, because a list response may contain an old revision.
fn set(revisions: &mut Revisions, resource: &str, revision: u64) {
    match revisions.get_mut(resource) {
        Some(known) => *known = revision.max(*known),
        None => drop(revisions.insert(resource.into(), revision)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn observe(observed: &mut ObservedRevisions, what: &Value) {
        let fact = json!({"seq": 0, "at_us": 0, "what": what});
        observed.observe(&serde_json::from_value(fact).expect("valid fact"));
    }

    #[test]
    fn a_resource_with_additional_fields_must_be_received_again() {
        let mut observed = ObservedRevisions::default();
        let driver = json!({"fact": "commit", "client": "harness", "change": "added", "resource": "csidrivers", "namespace": null,
            "name": "disk.example.com", "revision": 5, "object": {}});
        let list = json!({"fact": "request", "client": "scheduler", "verb": "list", "resource": "csidrivers", "namespace": null,
            "name": null, "code": 200, "message": null, "revision": 7});
        let delivery = json!({"fact": "delivery", "client": "scheduler", "change": "modified", "resource": "csidrivers",
            "namespace": null, "name": "disk.example.com", "revision": 5});
        observe(&mut observed, &driver);
        observe(&mut observed, &list);
        assert!(!observed.is_behind());
        observed.mark_unread("csidrivers");
        assert!(observed.is_behind());
        observe(&mut observed, &delivery);
        assert!(!observed.is_behind());
    }

    #[test]
    fn an_undelivered_change_is_missing() {
        let mut observed = ObservedRevisions::default();
        let list = json!({"fact": "request", "client": "scheduler", "verb": "list", "resource": RESOURCE, "namespace": null,
            "name": null, "code": 200, "message": null, "revision": 7});
        let object = json!({"fact": "commit", "client": "harness", "change": "added", "resource": RESOURCE, "namespace": "csi",
            "name": "by-hand-1", "revision": 8, "object": {}});
        let delivery = json!({"fact": "delivery", "client": "scheduler", "change": "added", "resource": RESOURCE,
            "namespace": "csi", "name": "by-hand-1", "revision": 8});
        for (fact, misses) in [(list, false), (object, true), (delivery, false)] {
            observe(&mut observed, &fact);
            assert_eq!(
                observed.has_undelivered_change(Role::Scheduler, RESOURCE),
                misses,
                "{fact}"
            );
            assert!(!observed.has_undelivered_change(Role::Publisher, RESOURCE));
        }
    }

    #[test]
    fn unwatched_resources_are_never_behind() {
        let mut observed = ObservedRevisions::default();
        observed.mark_unread("csidrivers");
        assert!(!observed.is_behind());
    }

    #[test]
    fn replicas_watch_all_nodes_and_distributed_publishers_watch_none() {
        let list = json!({"fact": "request", "client": "publisher@1", "verb": "list", "resource": "nodes", "namespace": null, "name": null,
            "code": 200, "message": null, "revision": 3});
        let node = json!({"fact": "commit", "client": "harness", "change": "modified", "resource": "nodes", "namespace": null,
            "name": "n1", "revision": 4, "object": {}});
        for is_distributed in [false, true] {
            let mut observed = ObservedRevisions::new(is_distributed);
            observe(&mut observed, &list);
            observe(&mut observed, &node);
            assert_eq!(observed.is_behind(), !is_distributed);
        }
    }
}
