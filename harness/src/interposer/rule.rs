//! Rules that change the traffic of a program under test, in the format of `suites/defects.yaml`.

use std::collections::BTreeMap;

use fake_apiserver::Verb;
use fake_csi::CsiDefect;
use serde::Deserialize;
use serde_json::Value;

/// A rule that changes the traffic of a program under test.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WireRule {
    /// Changes requests of the program to the API server.
    Request(RequestRule),
    /// Changes objects that the program receives in lists and watches.
    Object(ObjectRule),
    /// Changes CSI calls of the program or their responses.
    Call(CsiDefect),
    /// Changes the metrics of the program.
    Metrics(MetricsRule),
}

impl WireRule {
    pub(super) fn csi_defect(&self) -> Option<CsiDefect> {
        match self {
            WireRule::Call(csi_defect) => Some(*csi_defect),
            WireRule::Request(_) | WireRule::Object(_) | WireRule::Metrics(_) => None,
        }
    }
}

/// Changes the requests that a program sends to the API server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestRule {
    /// Verbs of matching requests: get, list, watch, create, update, patch, delete.
    pub verbs: Vec<Verb>,
    /// Plural resource name of matching requests, with a subresource after a slash.
    pub resource: String,
    /// Matches only requests whose body lacks all of these fields, given as JSON pointers.
    #[serde(default)]
    pub lacking: Vec<String>,
    /// Fields to remove from the request body, as JSON pointers.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Fields to set in the request body, by JSON pointer.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Names of the query parameters to remove.
    #[serde(default)]
    pub without: Vec<String>,
    /// Whether to send the request for all namespaces, although the program requests one namespace.
    #[serde(default)]
    pub everywhere: bool,
    /// Namespace that replaces the namespace in the request.
    pub namespace: Option<String>,
    /// Additional requests that the proxy sends before the program's request. Their responses are ignored.
    #[serde(rename = "besides", default)]
    pub additional: Vec<AdditionalRequest>,
    /// HTTP status that the program receives instead of the server's response.
    pub answered: Option<u16>,
    /// Whether the program receives a successful response although the proxy does not send the request.
    #[serde(default)]
    pub pretend: bool,
    /// How many additional times the proxy sends the request.
    #[serde(default)]
    pub repeat: u32,
}

/// An additional request without a body.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdditionalRequest {
    /// The HTTP method.
    pub method: String,
    /// The URL path, followed by the query after a question mark.
    pub path: String,
}

/// Changes objects that a program receives from the API server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectRule {
    /// Plural resource name of matching objects.
    pub resource: String,
    /// Matches only objects that lack all of these fields, given as JSON pointers.
    #[serde(default)]
    pub lacking: Vec<String>,
    /// Matches only objects whose string at each of these JSON pointers contains the given text.
    #[serde(default)]
    pub having: BTreeMap<String, String>,
    /// Types of the watch events whose objects the rule changes.
    #[serde(default = "all_events")]
    pub events: Vec<EventKind>,
    /// Whether the rule changes objects in lists, including the initial events of a watch.
    #[serde(default)]
    pub listed: bool,
    /// Whether to hide the object from the program.
    #[serde(default)]
    pub withhold: bool,
    /// Fields to remove from the object, as JSON pointers.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Fields to set in the object, by JSON pointer.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Fields to set in the object where they are unset, by JSON pointer.
    #[serde(default)]
    pub default: BTreeMap<String, Value>,
    /// Maximum number of items in lists of the object, by JSON pointer.
    #[serde(default)]
    pub truncate: BTreeMap<String, usize>,
}

/// Changes one metric of a program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetricsRule {
    /// Prefix of the names of the metric's series.
    pub name: String,
    /// Whether to remove the series from the metrics.
    #[serde(default)]
    pub withhold: bool,
    /// Labels to remove from the series.
    #[serde(default)]
    pub without: Vec<String>,
    /// New value of every series of the metric.
    pub set: Option<f64>,
}

/// Type of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EventKind {
    /// The event type `ADDED`.
    Added,
    /// The event type `MODIFIED`.
    Modified,
    /// The event type `DELETED`.
    Deleted,
}

fn all_events() -> Vec<EventKind> {
    vec![EventKind::Added, EventKind::Modified, EventKind::Deleted]
}
