//! A request for a resource, received over HTTP or from an in-process client.
//!
//! Owns the parts of a request. Does not know how requests are encoded or executed.

use crate::access::auth::User;
use crate::kinds::{Kind, Part};
use crate::machinery::document::Document;
use crate::machinery::status::Status;
use crate::machinery::{go, metadata};
use crate::object::Object;
use crate::patch::managed::{self, FieldManager};
use crate::request::{ResourcePath, Verb};
use crate::store::{Selection, Snapshot, Store, Watcher};
use serde_json::Value;
use std::sync::Arc;
use tokio::time::Instant;

/// A request for a resource, with all data that a verb needs from the request.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) user: Arc<User>,
    pub(crate) verb: Verb,
    pub(crate) target: Target,
    pub(crate) params: Params,
    pub(crate) payload: Payload,
    /// The time at which the request was received completely.
    pub(crate) began: Instant,
    /// The `User-Agent` header.
    pub(crate) agent: String,
    /// The old revision at which the request reads objects, if a fault rule makes the request read an old state.
    pub(crate) stale: Option<u64>,
}

/// The object, collection or subresource that a request addresses.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) part: Part,
}

#[derive(Clone)]
pub(crate) enum Payload {
    None,
    /// An object, or options such as `DeleteOptions`.
    Object(Document),
    /// The format of a patch, and the parsed patch or its parse error.
    Patch(Patch, Result<Document, String>),
    /// The applied configuration of a server-side apply, or its parse error.
    Apply(Result<Document, String>),
    /// No body: the client requests an upgrade to another protocol, such as WebSocket.
    Upgrade,
}

/// The format of a patch, given by the `Content-Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patch {
    Json,
    Merge,
    Strategic,
}

/// The query parameters as sent. Each verb parses the parameters that it supports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(Vec<(String, String)>);

/// The result of a verb that succeeds.
pub(crate) enum Answer {
    /// An object in the version of the requested resource.
    Object {
        code: u16,
        object: Arc<Object>,
    },
    /// A `Status` that reports success, such as the Status of a deletion.
    Status(Status),
    /// A success response with an empty body.
    Nothing,
    /// A list whose page is read from a snapshot after the store lock was released.
    List(ListPlan),
    Watch(WatchPlan),
}

impl Answer {
    pub(crate) fn object(code: u16, object: Arc<Object>) -> Self {
        Self::Object { code, object }
    }
}

/// A validated list request.
pub(crate) struct ListPlan {
    pub(crate) kind: Kind,
    pub(crate) snapshot: Snapshot,
    pub(crate) selection: Selection,
    pub(crate) limit: usize,
    /// First storage key of the page, inclusive; without the namespace if only one namespace is listed. `None` for the first page.
    pub(crate) after: Option<String>,
}

/// One page of a list.
pub(crate) struct Listing {
    pub(crate) objects: Vec<Arc<Object>>,
    pub(crate) revision: u64,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

/// A validated watch request.
pub(crate) struct WatchPlan {
    /// The open watch, or the id and error of a watch that failed to start: its stream contains only the error.
    pub(crate) watcher: Result<Arc<Watcher>, (u64, Status)>,
    pub(crate) bookmarks: bool,
    /// Whether an annotated bookmark marks the end of the initial events.
    pub(crate) marks_end: bool,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) revision: u64,
}

impl WatchPlan {
    /// Closes the watch because the request is rejected after the watch was opened.
    pub(crate) fn abandon(self, store: &Store) {
        if let Ok(watcher) = self.watcher {
            store.remove_unreported_watch(&watcher);
        }
    }
}

/// The result of a request, with the warnings for the client.
pub(crate) struct Reply {
    pub(crate) outcome: Result<Answer, Status>,
    /// Texts for the `Warning` headers of the response.
    pub(crate) warnings: Vec<String>,
}

impl Call {
    /// The field manager of the request: its `fieldManager` parameter, or the name in its User-Agent.
    pub(crate) fn field_manager(&self) -> FieldManager<'_> {
        let named = self.params.get("fieldManager");
        FieldManager {
            kind: &self.target.kind,
            manager: if named.is_empty() {
                self.user_agent_name()
            } else {
                named
            },
            part: self.target.part,
        }
    }

    /// The client name in the User-Agent, without the version.
    fn user_agent_name(&self) -> &str {
        let name = self.agent.split('/').next().unwrap_or_default();
        let end = name.find(|c: char| !go::is_print(c)).unwrap_or(name.len());
        &name[..name.floor_char_boundary(end.min(managed::NAME_MAX))]
    }
}

impl Target {
    /// The storage key of the object. The request must name an object.
    pub(crate) fn key(&self) -> String {
        self.kind.key(self.namespace.as_deref(), self.name())
    }

    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Whether the request connects to a node, pod or service through the server.
    pub(crate) fn is_connection(&self) -> bool {
        matches!(self.part, Part::Sub(sub) if sub.is_forwarded())
    }

    pub(crate) fn of(kind: &Kind, object: &Value) -> Self {
        let text =
            |field: &str| Some(metadata::text(object, field).to_owned()).filter(|text| !text.is_empty());
        Self {
            kind: kind.clone(),
            namespace: text("namespace"),
            name: text("name"),
            part: Part::Main,
        }
    }

    pub(crate) fn path(&self) -> ResourcePath {
        ResourcePath {
            group: self.kind.group.to_owned(),
            version: self.kind.version.to_owned(),
            resource: self.kind.plural.to_owned(),
            subresource: self.part.as_str().map(str::to_owned),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// Whether each percent sign in a text starts a valid escape.
fn is_escaped(text: &str) -> bool {
    let mut parts = text.split('%').skip(1);
    parts.all(|part| part.len() >= 2 && part.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}

impl<const N: usize> From<[(&str, &str); N]> for Params {
    fn from(pairs: [(&str, &str); N]) -> Self {
        Self(
            pairs
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        )
    }
}

impl Params {
    /// Parses a query string. Ignores empty pairs, which some clients send. Like Go, drops pairs that contain a semicolon, which used to be
    /// a separator.
    pub(crate) fn parse(query: &str) -> Self {
        // Like Go, ignores query parameters that cannot be decoded.
        let pairs = query
            .split('&')
            .filter(|pair| !pair.contains(';') && is_escaped(pair));
        let pairs = pairs.flat_map(|pair| form_urlencoded::parse(pair.as_bytes()));
        Self(
            pairs
                .filter(|(key, _)| !key.is_empty())
                .map(|(k, v)| (k.into_owned(), v.into_owned()))
                .collect(),
        )
    }

    /// The first value of a query parameter; empty if the parameter is missing.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value.as_str())
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// Parses a boolean query parameter like kube-apiserver: true unless the value is a form of `0` or `false`. `None` if absent.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        Some(!matches!(
            value.as_str(),
            "0" | "false" | "False" | "FALSE" | "f" | "F"
        ))
    }

    /// Parses an integer query parameter; `None` if the parameter is absent.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some((_, text)) = self.0.iter().find(|(key, _)| key == name) else {
            return Ok(None);
        };
        text.parse()
            .map(Some)
            .map_err(|error| Status::bad_request(go::parse_int_error("ParseInt", text, &error)))
    }
}
