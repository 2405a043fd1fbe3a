//! A request to the API server, as far as rules speak of it. Judges nothing.

use std::sync::Arc;
use std::time::Duration;

use capacity_types::capacity_api::RESOURCE;

use super::author::Author;

/// The kinds among which a publisher looks for the owner of its objects, and from which level on it needs to read them: the pod leads to
/// what owns it, and a replica set to the deployment. What owns the objects in the end is named, and not read.
pub(super) const OWNERS: [(&str, Option<u8>); 5] = [
    ("pods", Some(0)),
    ("replicasets", Some(2)),
    ("deployments", None),
    ("statefulsets", None),
    ("daemonsets", None),
];

/// A request that the API server has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asked.
    pub by: Author,
    /// Its name for the API server, which tells replicas apart.
    pub client: Arc<str>,
    /// Such as `list`.
    pub verb: String,
    /// Plural name, with a subresource as in `pods/binding`.
    pub resource: String,
    /// The namespace; none: all of them, or an object that has none.
    pub namespace: Option<String>,
    /// Whether it was answered as it was meant.
    pub is_answered: bool,
    /// When, since the history began.
    pub at: Duration,
}

impl Request {
    /// Whether a rule speaks of requests of a verb about a resource.
    pub fn is_judged(verb: &str, resource: &str) -> bool {
        resource == RESOURCE
            || verb == "watch"
            || verb == "get" && OWNERS.iter().any(|(kind, _)| *kind == resource)
    }
}
