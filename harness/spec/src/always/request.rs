//! A request to the API server, with the fields that rules use. Checks nothing.

use std::sync::Arc;
use std::time::Duration;

use capacity_types::capacity_api::RESOURCE;

use super::actor::Actor;

/// The kinds that a publisher reads to find the owner of its objects, and the owner level from which it needs them: pod → ReplicaSet →
/// Deployment. The last owner itself is only referenced, not read.
pub(super) const OWNERS: [(&str, Option<u8>); 5] = [
    ("pods", Some(0)),
    ("replicasets", Some(2)),
    ("deployments", None),
    ("statefulsets", None),
    ("daemonsets", None),
];

/// A request with its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The originator.
    pub by: Actor,
    /// The name of the API client, which distinguishes replicas.
    pub client: Arc<str>,
    /// The verb, such as `list`.
    pub verb: String,
    /// Plural name, with the subresource as in `pods/binding`.
    pub resource: String,
    /// The namespace. `None`: all namespaces, or a cluster-scoped object.
    pub namespace: Option<String>,
    /// Whether the request succeeded.
    pub is_successful: bool,
    /// Time since the start of the history.
    pub at: Duration,
}

impl Request {
    /// Whether a rule checks this verb and resource.
    pub fn is_judged(verb: &str, resource: &str) -> bool {
        resource == RESOURCE
            || verb == "watch"
            || verb == "get" && OWNERS.iter().any(|(kind, _)| *kind == resource)
    }
}
