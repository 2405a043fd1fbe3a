//! The rules by which traffic is spoilt, as data.

use std::collections::BTreeMap;

use fake_apiserver::Verb;
use fake_csi::Spoil;
use serde::Deserialize;
use serde_json::Value;

/// One way in which the traffic of a system is spoilt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WireRule {
    /// What it sends to the API server.
    Request(RequestRule),
    /// What it gets to see of objects, in lists and watches.
    Object(ObjectRule),
    /// Its calls of the driver, and their answers.
    Call(Spoil),
    /// What it tells of itself.
    Metrics(MetricsRule),
}

impl WireRule {
    pub(super) fn spoil(&self) -> Option<Spoil> {
        match self {
            WireRule::Call(spoil) => Some(*spoil),
            WireRule::Request(_) | WireRule::Object(_) | WireRule::Metrics(_) => None,
        }
    }
}

/// Spoils requests to the API server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestRule {
    /// Verbs of the API: get, list, watch, create, update, patch, delete.
    pub verbs: Vec<Verb>,
    /// The resource in the plural, with a subresource after a slash.
    pub resource: String,
    /// Only requests whose body lacks all of these, as JSON pointers.
    #[serde(default)]
    pub lacking: Vec<String>,
    /// Taken out of the body, as JSON pointers.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Put into the body, by JSON pointer.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Parameters that are taken out of the query.
    #[serde(default)]
    pub without: Vec<String>,
    /// Asked of all namespaces instead of one.
    #[serde(default)]
    pub everywhere: bool,
    /// Sent to that namespace in the place of another.
    pub namespace: Option<String>,
    /// Other requests that are sent before it, whatever the server says to them.
    #[serde(default)]
    pub besides: Vec<Besides>,
    /// Sent, and then answered with that HTTP status, whatever the server says.
    pub answered: Option<u16>,
    /// Not sent at all, but answered as if it had been done.
    #[serde(default)]
    pub pretend: bool,
    /// Sent that many times more.
    #[serde(default)]
    pub repeat: u32,
}

/// A request without a body.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Besides {
    /// The HTTP method.
    pub method: String,
    /// The path, with the query after a question mark.
    pub path: String,
}

/// Spoils what a system gets to see of objects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectRule {
    /// The resource in the plural.
    pub resource: String,
    /// Only objects that lack all of these, as JSON pointers.
    #[serde(default)]
    pub lacking: Vec<String>,
    /// Only objects whose text at each of these JSON pointers contains the one that is given.
    #[serde(default)]
    pub having: BTreeMap<String, String>,
    /// In these events of watches.
    #[serde(default = "all_events")]
    pub events: Vec<EventKind>,
    /// In lists, be they lists or the beginning of a watch.
    #[serde(default)]
    pub listed: bool,
    /// Not shown at all.
    #[serde(default)]
    pub withhold: bool,
    /// Taken out, as JSON pointers.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Put in, by JSON pointer.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Put in where nothing is, by JSON pointer.
    #[serde(default)]
    pub default: BTreeMap<String, Value>,
    /// Lists that are cut, by JSON pointer, to so many items.
    #[serde(default)]
    pub truncate: BTreeMap<String, usize>,
}

/// Spoils what a system tells of one metric.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetricsRule {
    /// What the names of its series begin with.
    pub name: String,
    /// Not told at all.
    #[serde(default)]
    pub withhold: bool,
    /// Labels that are left out.
    #[serde(default)]
    pub without: Vec<String>,
    /// Told of every series in the place of its value.
    pub set: Option<f64>,
}

/// An event of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EventKind {
    /// ADDED.
    Added,
    /// MODIFIED.
    Modified,
    /// DELETED.
    Deleted,
}

fn all_events() -> Vec<EventKind> {
    vec![EventKind::Added, EventKind::Modified, EventKind::Deleted]
}
