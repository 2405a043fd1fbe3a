//! The format of the recorded worlds of external-provisioner. Knows neither the reference nor the specification, which are both held
//! against them.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;
use serde::Deserialize;
use serde_json::Value;

/// One file of recordings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recording {
    pub(crate) driver: String,
    pub(crate) namespace: String,
    pub(crate) worlds: Vec<RecordedWorld>,
}

/// What existed before the publisher started, what the driver answered, the changes while it ran, and what was left after each.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedWorld {
    pub(crate) name: String,
    pub(crate) mode: String,
    #[serde(default)]
    pub(crate) node: Option<String>,
    #[serde(default)]
    pub(crate) segment: Option<Segment>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) classes: Vec<Value>,
    pub(crate) objects: Vec<Value>,
    pub(crate) answers: BTreeMap<String, Told>,
    pub(crate) steps: Vec<Step>,
    pub(crate) after: Vec<Vec<Value>>,
    pub(crate) alive: bool,
    pub(crate) asked: BTreeSet<String>,
}

/// A node, and what the driver has registered there; none: it does not run there.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) topology_keys: Option<Vec<String>>,
}

/// What the driver answered for one segment and class, in bytes.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Told {
    pub(crate) available: i64,
    pub(crate) maximum: Option<i64>,
}

/// A change while the publisher ran.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Step {
    CreateNode(Node),
    CreateClass(Value),
    DeleteClass(String),
    DeleteObjects(bool),
    Relabel {
        node: String,
        labels: BTreeMap<String, String>,
    },
    Unregister(String),
}
