//! Requests to the API server: only with documented RBAC permissions, and no unnecessary lists.

use capacity_types::capacity_api::RESOURCE;

use super::author::Author;
use super::monitor::Monitor;
use super::request::{OWNERS, Request};
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::Publisher;

/// Verbs of a publisher on capacity objects (external-provisioner, README, "Capacity support").
const OF_PUBLISHERS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
/// Verbs of a cleaner on capacity objects (KEP-1472, "With central controller" and "Without").
const OF_CLEANERS: [&str; 4] = ["get", "list", "watch", "delete"];

/// Verbs without side effects.
const READS: [&str; 3] = ["get", "list", "watch"];

impl Monitor {
    pub(super) fn requested(&mut self, request: &Request) -> Option<Violation> {
        self.hurried_watch(request)
            .or_else(|| self.strange_request(request))
    }

    fn strange_request(&mut self, request: &Request) -> Option<Violation> {
        // A cleaner need not watch capacity objects.
        let is_judged = request.resource == RESOURCE && request.by != Author::Cleaner;
        let is_needless = is_judged && self.reads.is_needless(request);
        let wrong = match self.is_granted(request) {
            false => Some(rules::NOT_GRANTED),
            true if self.is_unled(request) => Some(rules::NOT_LEADING),
            true => is_needless.then_some(rules::UNNECESSARY_LIST),
        };
        wrong.map(|rule| violation(rule, request))
    }

    /// Whether a replica writes without holding the Lease.
    fn is_unled(&self, request: &Request) -> bool {
        let Author::Publisher(instance) = &request.by else {
            return false;
        };
        let is_write = request.is_answered && !READS.contains(&request.verb.as_str());
        let publisher = self.world.publishers.get(instance);
        let is_elected = publisher.is_some_and(|publisher| publisher.is_elected);
        is_elected && is_write && request.resource == RESOURCE && !self.leaders.contains(&request.client)
    }

    /// Whether the documented permissions of the program cover the request.
    fn is_granted(&self, request: &Request) -> bool {
        match &request.by {
            Author::Publisher(instance) => match self.world.publishers.get(instance) {
                Some(publisher) => is_granted_to(publisher, request),
                // The request was in flight when its publisher exited.
                None => true,
            },
            Author::Cleaner if request.resource == RESOURCE => {
                let mut cleaner = self.world.cleaner.iter();
                let is_near = cleaner.all(|it| request.namespace.as_ref() == Some(&it.namespace));
                is_near && OF_CLEANERS.contains(&request.verb.as_str())
            }
            _ => true,
        }
    }
}

fn is_granted_to(publisher: &Publisher, request: &Request) -> bool {
    if request.resource == RESOURCE {
        let is_near = request.namespace.as_ref() == Some(&publisher.namespace);
        return is_near && OF_PUBLISHERS.contains(&request.verb.as_str());
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
    let place = match namespace {
        Some(namespace) => format!("in namespace {namespace}"),
        None => "in all namespaces".to_owned(),
    };
    Violation {
        rule,
        subject: Subject::Request(resource.clone()),
        detail: format!("{client} sent {verb} {resource} {place}"),
    }
}
