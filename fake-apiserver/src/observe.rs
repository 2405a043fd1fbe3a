//! The events that an observer receives.
//!
//! Owns the event types. Does not store, filter or judge events: the observer does.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
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
    Fault {
        /// The rule.
        rule: RuleId,
        /// Whose request or watch it was; `None` where the server itself is perturbed.
        client: Option<Arc<str>>,
        /// What happened, and to what, for people: `status 503 on create csistoragecapacities`.
        what: String,
        /// Whether a real API server may do the same.
        legal: bool,
    },
}

/// Names an installed rule of `perturb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RuleId(pub u64);

/// The request verbs of Kubernetes authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Read one object, or a path that is no resource.
    Get,
    /// Read a collection.
    List,
    /// Follow a collection.
    Watch,
    /// Create an object or a subresource such as a binding.
    Create,
    /// Replace an object.
    Update,
    /// Change part of an object.
    Patch,
    /// Delete an object.
    Delete,
    /// Delete a collection.
    DeleteCollection,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 8] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Create,
        Self::Update,
        Self::Patch,
        Self::Delete,
        Self::DeleteCollection,
    ];

    /// The verb as RBAC spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// Whether the verb changes nothing.
    pub(crate) fn only_reads(self) -> bool {
        matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
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

/// Which resource a request named, as its URL had it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourcePath {
    /// API group; empty for the core group.
    pub group: String,
    /// API version within the group.
    pub version: String,
    /// Plural resource name.
    pub resource: String,
    /// Subresource, for example `status`.
    pub subresource: Option<String>,
    /// Namespace, where the path has one.
    pub namespace: Option<String>,
    /// Name, where the path has one (for a create, the name that the object got).
    pub name: Option<String>,
}

impl ResourcePath {
    /// Group and version as `apiVersion` has them: `v1`, or `storage.k8s.io/v1`.
    pub fn group_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The resource as RBAC spells it: `pods`, or `pods/binding`.
    pub fn combined(&self) -> String {
        combined(&self.resource, self.subresource.as_deref().unwrap_or_default())
    }

    /// What a request for it acts on, spelt in the same way: whoever creates `bindings` binds pods.
    pub fn acted_on(&self) -> String {
        match self.is_bindings() {
            true => "pods/binding".to_owned(),
            false => self.combined(),
        }
    }

    /// Whether these are the `bindings` that name their pods themselves.
    pub fn is_bindings(&self) -> bool {
        self.group.is_empty() && self.resource == "bindings" && self.subresource.is_none()
    }
}

/// A resource as rules name it: with its subresource, if there is one.
pub(crate) fn combined(resource: &str, subresource: &str) -> String {
    if subresource.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}/{subresource}")
    }
}
