//! Requests to the API server: only with documented RBAC permissions, and no unnecessary lists. Watch events of publishers: only of their
//! own objects.

use capacity_types::capacity_api::RESOURCE;

use super::monitor::Monitor;
use super::request::{Actor, OWNERS, Request};
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{Instance, NamespacedName, Publisher};

/// Verbs that a publisher may use for CSIStorageCapacity objects (external-provisioner, README, "Capacity support").
const PUBLISHER_VERBS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
/// Verbs that a cleaner may use for CSIStorageCapacity objects (KEP-1472, "With central controller" and "Without central controller").
const CLEANER_VERBS: [&str; 4] = ["get", "list", "watch", "delete"];

const READS: [&str; 3] = ["get", "list", "watch"];

impl Monitor {
    pub(super) fn api_requested(&mut self, request: &Request) -> Option<Violation> {
        self.check_watch_rate(request)
            .or_else(|| self.check_api_request(request))
    }

    fn check_api_request(&mut self, request: &Request) -> Option<Violation> {
        // A cleaner need not watch CSIStorageCapacity objects, so it may list them at any time.
        let is_judged = request.resource == RESOURCE && request.by != Actor::Cleaner;
        let is_unnecessary = is_judged && self.reads.is_unnecessary(request);
        let wrong = match self.is_granted(request) {
            false => Some(rules::NOT_GRANTED),
            true if self.writes_without_lease(request) => Some(rules::NOT_LEADING),
            true => is_unnecessary.then_some(rules::UNNECESSARY_LIST),
        };
        wrong.map(|rule| violation(rule, request))
    }

    fn writes_without_lease(&self, request: &Request) -> bool {
        let Actor::Publisher(instance) = &request.by else {
            return false;
        };
        let is_write = request.is_successful && !READS.contains(&request.verb.as_str());
        let publisher = self.world.publishers.get(instance);
        let uses_leader_election = publisher.is_some_and(|publisher| publisher.uses_leader_election);
        uses_leader_election
            && is_write
            && request.resource == RESOURCE
            && !self.leaders.contains(&request.client)
    }

    /// Whether the documented permissions of the program allow the request.
    fn is_granted(&self, request: &Request) -> bool {
        match &request.by {
            Actor::Publisher(instance) => match self.world.publishers.get(instance) {
                Some(publisher) => is_granted_to(publisher, request),
                // The publisher has exited; the request was in flight at that time.
                None => true,
            },
            Actor::Cleaner if request.resource == RESOURCE => {
                let mut cleaner = self.world.cleaner.iter();
                let is_in_namespace = cleaner.all(|it| request.namespace.as_ref() == Some(&it.namespace));
                is_in_namespace && CLEANER_VERBS.contains(&request.verb.as_str())
            }
            _ => true,
        }
    }

    /// Checks that a publisher receives watch events only for its own objects.
    pub(super) fn object_delivered(&self, instance: &Instance, key: &NamespacedName) -> Option<Violation> {
        let publisher = self.world.publishers.get(instance)?;
        // A watch cannot select objects by owner, and without a known managed-by label, the publisher's objects are unknown.
        if publisher.identifies_by_owner || publisher.managed_by(instance).is_none() {
            return None;
        }
        // When an object stops matching the selector of a watch, the watch gets an event, possibly much later. Therefore an event is
        // allowed if former labels of the object match.
        let former = self.former_labels.former_states(key);
        let is_unexpected =
            !former.is_empty() && !former.iter().any(|object| publisher.owns(instance, key, object));
        is_unexpected.then(|| Violation {
            rule: rules::WATCH_WITHOUT_SELECTOR,
            subject: Subject::Object(key.clone()),
            detail: format!(
                "the watch of {instance} delivered the object, although it belongs to another publisher"
            ),
        })
    }
}

fn is_granted_to(publisher: &Publisher, request: &Request) -> bool {
    if request.resource == RESOURCE {
        let is_in_namespace = request.namespace.as_ref() == Some(&publisher.namespace);
        return is_in_namespace && PUBLISHER_VERBS.contains(&request.verb.as_str());
    }
    let kind = OWNERS.iter().find(|(kind, _)| *kind == request.resource);
    kind.is_none_or(|(_, from)| publisher.owner_level >= *from && from.is_some())
}

fn violation(rule: &'static Rule, request: &Request) -> Violation {
    let Request {
        client,
        verb,
        resource,
        namespace,
        ..
    } = request;
    let scope = match namespace {
        Some(namespace) => format!("in namespace {namespace}"),
        None => "in all namespaces".to_owned(),
    };
    Violation {
        rule,
        subject: Subject::Request(resource.clone()),
        detail: format!("{client} sent {verb} {resource} {scope}"),
    }
}
