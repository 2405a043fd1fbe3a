//! The events that an observer receives.
//!
//! Owns the event types. Does not store or filter events: the observer does.

use crate::fault_injection::AppliedFault;
use crate::request::{ResourcePath, Verb};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Receives all requests, commits, watch deliveries and injected faults, in the order in which the server processed them.
///
/// `observe` is called while the server holds its state lock: it must be quick and must not call the server.
pub trait Observer: Send + Sync {
    /// Called for each event. Must be quick and must not call the server.
    fn observe(&self, event: Event);
}

/// What the server did: it answered a request, committed a change, delivered or closed a watch, or injected a fault.
#[derive(Clone, Debug)]
pub enum Event {
    /// A request was answered. For a watch, the event is reported when the watch is accepted.
    Request {
        /// Name of the client, as given to `ApiServer::add_client`.
        client: Arc<str>,
        /// Kubernetes verb, such as `watch`.
        verb: Verb,
        /// The requested resource; `None` for discovery, health checks and unknown paths.
        resource: Option<ResourcePath>,
        /// The HTTP status code of the response.
        code: u16,
        /// `Status.reason` of an error response.
        reason: Option<String>,
        /// `Status.message` of an error response.
        message: Option<String>,
        /// Whether the error response was injected by a fault rule.
        injected: bool,
        /// The newest revision that the request wrote; for reads the revision of the returned object or list; for watches the
        /// revision from which the watch starts.
        revision: Option<u64>,
        /// Time from receiving the complete request to its response.
        elapsed: Duration,
    },
    /// An object was created, modified or deleted.
    Commit {
        /// Name of the client whose request caused the change.
        client: Arc<str>,
        /// Whether the object was created, modified or deleted.
        change: Change,
        /// API group; empty for the core group.
        group: &'static str,
        /// Plural resource name, such as `pods`.
        resource: &'static str,
        /// Namespace of the changed object; `None` for cluster-scoped objects.
        namespace: Option<Arc<str>>,
        /// Name of the changed object.
        name: Arc<str>,
        /// The resourceVersion that the change gave the object.
        revision: u64,
        /// The new state of the object; for a deletion the last state. Omits `metadata.managedFields`, which would double the size.
        object: Arc<Value>,
    },
    /// A watch event was handed to the client's connection. Bookmarks are not reported.
    Delivery {
        /// Name of the client that opened the watch.
        client: Arc<str>,
        /// Number of the watch, unique within the server.
        watch: u64,
        /// The type of the watch event. With a selector, an object that starts to match is `Added`, one that stops matching `Deleted`.
        change: Change,
        /// API group; empty for the core group.
        group: &'static str,
        /// Plural resource name, such as `pods`.
        resource: &'static str,
        /// Namespace of the object in the watch event; `None` for cluster-scoped objects.
        namespace: Option<Arc<str>>,
        /// Name of the object in the watch event.
        name: Arc<str>,
        /// The resourceVersion of the delivered object.
        revision: u64,
    },
    /// A watch ended, for the reason `why`.
    WatchClosed {
        /// Name of the client that opened the watch.
        client: Arc<str>,
        /// Number of the watch, unique within the server.
        watch: u64,
        /// Plural resource name, such as `pods`.
        resource: &'static str,
        /// Whether the client, the server or a fault rule ended the watch.
        why: WatchEnd,
    },
    /// A fault rule was applied to a request, a watch or the history.
    Fault(AppliedFault),
}

/// The type of an object change or watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The object was created, or started to match the selector.
    Added,
    /// The object was modified.
    Modified,
    /// The object was deleted, or stopped matching the selector.
    Deleted,
}

impl Change {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// Who or what ended a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchEnd {
    /// The client closed the connection or the stream.
    Client,
    /// `timeoutSeconds`, or the server's own time limit, expired.
    Timeout,
    /// The client read too slowly and its event queue overflowed.
    Slow,
    /// The stream ended with an ERROR event (410 Expired).
    Failed,
    /// The server stopped while the watch was open.
    Shutdown,
    /// A fault rule ended the watch (`EndWatch`).
    FaultInjected,
    /// The resource is no longer served, because the release or a feature gate changed.
    Unserved,
}
