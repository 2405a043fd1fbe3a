//! Rules that change the traffic of a system under test, as `suites/defects.yaml` writes them.

use std::collections::BTreeMap;

use fake_apiserver::Verb;
use fake_csi::CsiDefect;
use serde::Deserialize;
use serde_json::Value;

/// A rule that changes the traffic of a system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WireRule {
    /// Changes the system's requests to the API server.
    Request(RequestRule),
    /// Changes objects that the system receives in lists and watches.
    Object(ObjectRule),
    /// Changes the system's CSI calls or their responses.
    Call(CsiDefect),
    /// Changes the system's metrics.
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

/// Changes the requests that a system sends to the API server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestRule {
    /// Verbs of the API: get, list, watch, create, update, patch, delete.
    pub verbs: Vec<Verb>,
    /// Plural resource name, with a subresource after a slash.
    pub resource: String,
    /// Only requests whose body lacks all of these fields, as JSON pointers.
    #[serde(default)]
    pub lacking: Vec<String>,
    /// Fields to remove from the body, as JSON pointers.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Fields to set in the body, by JSON pointer.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Query parameters to remove.
    #[serde(default)]
    pub without: Vec<String>,
    /// Sends the request for all namespaces instead of one.
    #[serde(default)]
    pub everywhere: bool,
    /// Namespace to send the request to.
    pub namespace: Option<String>,
    /// Additional requests to send before it; their responses are ignored.
    #[serde(rename = "besides", default)]
    pub additional: Vec<AdditionalRequest>,
    /// HTTP status to return instead of the server's response.
    pub answered: Option<u16>,
    /// Does not send the request, and returns a successful response.
    #[serde(default)]
    pub pretend: bool,
    /// Number of times to repeat the request.
    #[serde(default)]
    pub repeat: u32,
}

/// An additional request without a body.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdditionalRequest {
    /// The HTTP method.
    pub method: String,
    /// The path, with the query after a question mark.
    pub path: String,
}

/// Changes objects that a system receives.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectRule {
    /// Plural resource name.
    pub resource: String,
    /// Only objects that lack all of these fields, as JSON pointers.
    #[serde(default)]
    pub lacking: Vec<String>,
    /// Only objects whose text at each of these JSON pointers contains the given text.
    #[serde(default)]
    pub having: BTreeMap<String, String>,
    /// Types of watch events to change.
    #[serde(default = "all_events")]
    pub events: Vec<EventKind>,
    /// Whether to change objects in lists, including the initial events of a watch.
    #[serde(default)]
    pub listed: bool,
    /// Hides the object from the system.
    #[serde(default)]
    pub withhold: bool,
    /// Fields to remove, as JSON pointers.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Fields to set, by JSON pointer.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Fields to set if they are unset, by JSON pointer.
    #[serde(default)]
    pub default: BTreeMap<String, Value>,
    /// Lists to truncate to a number of items, by JSON pointer.
    #[serde(default)]
    pub truncate: BTreeMap<String, usize>,
}

/// Changes one metric of a system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetricsRule {
    /// Prefix of the names of its series.
    pub name: String,
    /// Removes the series from the metrics.
    #[serde(default)]
    pub withhold: bool,
    /// Labels to remove.
    #[serde(default)]
    pub without: Vec<String>,
    /// Value of every series.
    pub set: Option<f64>,
}

/// Type of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EventKind {
    /// `ADDED`.
    Added,
    /// `MODIFIED`.
    Modified,
    /// `DELETED`.
    Deleted,
}

fn all_events() -> Vec<EventKind> {
    vec![EventKind::Added, EventKind::Modified, EventKind::Deleted]
}
