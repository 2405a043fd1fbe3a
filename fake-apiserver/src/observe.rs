//! The events that an observer receives.
//!
//! Owns the event types. Does not store, filter or judge events: the observer does.

use crate::perturb::AppliedFault;
use crate::request::{ResourcePath, Verb};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Receives everything observable, in the order of truth.
///
/// `observe` is called while the server holds its state lock: it must be quick and must not call the server.
pub trait Observer: Send + Sync {
    /// Takes one event.
    fn observe(&self, event: Event);
}

/// One observable fact.
#[derive(Clone, Debug)]
pub enum Event {
    /// An answered request; a watch is reported when it was accepted.
    Request {
        /// Name of the client, as given to `ApiServer::add_client`.
        client: Arc<str>,
        /// The verb of the request.
        verb: Verb,
        /// The requested resource; `None` for discovery, health and unknown paths.
        resource: Option<ResourcePath>,
        /// The HTTP status code of the answer.
        code: u16,
        /// `Status.reason` of a failure.
        reason: Option<String>,
        /// `Status.message` of a failure.
        message: Option<String>,
        /// Whether a perturbation refused it.
        injected: bool,
        /// The newest revision that the request made; otherwise that of the object or list that was read, or from
        /// which a watch starts.
        revision: Option<u64>,
        /// Time from the complete request to its answer.
        elapsed: Duration,
    },
    /// A committed change.
    Commit {
        /// Name of the client that caused it.
        client: Arc<str>,
        /// What happened to the object.
        change: Change,
        /// API group; empty for the core group.
        group: &'static str,
        /// Plural resource name.
        resource: &'static str,
        /// Namespace of a namespaced object.
        namespace: Option<Arc<str>>,
        /// Name of the object.
        name: Arc<str>,
        /// The revision that this change made.
        revision: u64,
        /// The new state; for a deletion the last state. Without `metadata.managedFields`, which would double its size.
        object: Arc<Value>,
    },
    /// One event of a watch was handed to the client's connection. Bookmarks are not reported.
    Delivery {
        /// Name of the watching client.
        client: Arc<str>,
        /// Number of the watch, unique per server.
        watch: u64,
        /// The type of the event: with a selector, entering it is `Added` and leaving it `Deleted`.
        change: Change,
        /// API group; empty for the core group.
        group: &'static str,
        /// Plural resource name.
        resource: &'static str,
        /// Namespace of a namespaced object.
        namespace: Option<Arc<str>>,
        /// Name of the object.
        name: Arc<str>,
        /// Revision of the state that was delivered.
        revision: u64,
    },
    /// A watch ended.
    WatchClosed {
        /// Name of the watching client.
        client: Arc<str>,
        /// Number of the watch.
        watch: u64,
        /// Plural resource name.
        resource: &'static str,
        /// What ended it.
        why: WatchEnd,
    },
    /// A perturbation was applied.
    Fault(AppliedFault),
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It came into being (or into a selector).
    Added,
    /// It changed.
    Modified,
    /// It went away (or out of a selector).
    Deleted,
}

impl Change {
    /// The word that watch events use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// Why a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchEnd {
    /// The client went away.
    Client,
    /// `timeoutSeconds`, or the server's own limit, ran out.
    Timeout,
    /// The client read too slowly and its queue was full.
    Slow,
    /// The stream ended with an ERROR event (410 Expired).
    Failed,
    /// The server stopped.
    Shutdown,
    /// A perturbation ended it.
    Perturbed,
    /// The release or a gate changed, and the resource is no longer served.
    Unserved,
}
