//! A request to the API server, with the fields that rules use, and the originators of events. Checks nothing.

use std::sync::Arc;
use std::time::Duration;

use capacity_types::capacity_api::RESOURCE;

use crate::world::Instance;

/// The kinds that a publisher reads to find the owner of its objects (pod → ReplicaSet → Deployment), each with the owner level from which
/// it must read the kind. The last owner is only referenced, so it need not be read.
pub(super) const OWNERS: [(&str, Option<u8>); 5] = [
    ("pods", Some(0)),
    ("replicasets", Some(2)),
    ("deployments", None),
    ("statefulsets", None),
    ("daemonsets", None),
];

/// A request to the API server, and whether it succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The program that sent the request.
    pub by: Actor,
    /// Client name, which distinguishes the replicas of a publisher.
    pub client: Arc<str>,
    /// Verb of the request, such as `list`.
    pub verb: String,
    /// Plural resource name, with a subresource as in `pods/binding`.
    pub resource: String,
    /// Namespace in the path. `None`: all namespaces, or a cluster-scoped object.
    pub namespace: Option<String>,
    /// Whether the request succeeded.
    pub is_successful: bool,
    /// Time since the start of the history.
    pub at: Duration,
}

impl Request {
    /// Whether any rule checks requests with this verb and resource.
    pub fn is_judged(verb: &str, resource: &str) -> bool {
        resource == RESOURCE
            || verb == "watch"
            || verb == "get" && OWNERS.iter().any(|(kind, _)| *kind == resource)
    }
}

/// The client that caused an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A publisher.
    Publisher(Instance),
    /// The cleaner, which deletes the CSIStorageCapacity objects of nodes without the driver.
    Cleaner,
    /// The scheduler.
    Scheduler,
    /// The user of the cluster, whose actions are never violations.
    User,
    /// A client of the driver that is not a publisher. Only publishers may call GetCapacity.
    Unrelated,
    /// Any other client, whose actions are never violations.
    Other,
}
