//! File format of recorded runs of external-provisioner in small clusters. Knows neither the references nor the specification, which are
//! compared with the recordings.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;
use serde::Deserialize;
use serde_json::Value;

/// A file with recorded clusters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recording {
    pub(crate) driver: String,
    pub(crate) namespace: String,
    pub(crate) worlds: Vec<RecordedCluster>,
}

/// A recorded cluster: initial objects, responses of the driver, changes while the publisher ran, and the objects after each change.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedCluster {
    pub(crate) name: String,
    pub(crate) mode: String,
    #[serde(default)]
    pub(crate) node: Option<String>,
    #[serde(default)]
    pub(crate) segment: Option<Segment>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) classes: Vec<Value>,
    pub(crate) objects: Vec<Value>,
    pub(crate) answers: BTreeMap<String, RecordedCapacity>,
    pub(crate) steps: Vec<Step>,
    pub(crate) after: Vec<Vec<Value>>,
    pub(crate) alive: bool,
    #[serde(rename = "asked")]
    pub(crate) get_capacity_calls: BTreeSet<String>,
}

/// A node, and the topology that the driver registered there; `None` if the driver does not run there.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) topology_keys: Option<Vec<String>>,
}

/// The driver's GetCapacity response for one segment and class, in bytes.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedCapacity {
    pub(crate) available: i64,
    pub(crate) maximum: Option<i64>,
}

/// A change of the cluster while the publisher ran.
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
