//! Calls of the services beside the API server, with their answers: the driver, extenders of the scheduler, and what programs tell of
//! themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use fake_csi::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use capacity_types::exposition::Sample;

/// An answered CSI call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFact {
    /// The CSI method.
    pub method: Method,
    /// The node whose endpoint was called; none for the central endpoint.
    pub node: Option<String>,
    /// The segment of the request; none where it had no topology.
    pub segment: Option<String>,
    /// Class parameters as the driver got them.
    pub parameters: BTreeMap<String, String>,
    /// The volume, for calls about one.
    pub volume: Option<String>,
    /// The volume's id in the driver, where the call names or answers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_id: Option<String>,
    /// Where the driver put a volume, for CreateVolume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<PlacedVolume>,
    /// Bytes of the request, for CreateVolume.
    pub required_bytes: Option<i64>,
    /// `OK` or the gRPC code.
    pub code: String,
    /// Error message, for a refusal; that the answer was lost, for a call that was carried out all the same.
    pub message: Option<String>,
    /// available_capacity, for GetCapacity.
    pub available: Option<i64>,
    /// maximum_volume_size, for GetCapacity.
    pub maximum: Option<i64>,
    /// What few calls have.
    #[serde(flatten)]
    pub details: Box<CallDetails>,
}

impl CallFact {
    /// Whether whoever called has an answer that says so.
    pub fn is_answered(&self) -> bool {
        self.code == "OK" && self.message.is_none()
    }
}

/// A connection or request that the driver's socket refused before it was a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusalFact {
    /// The node of the endpoint; none for the central endpoint.
    pub node: Option<String>,
    /// The program that connected, where the system reports it, such as `python3`.
    pub program: Option<String>,
    /// Its process id.
    pub pid: Option<i32>,
    /// Path of the request, such as `/csi.v1.Controller/GetCapacity`; none for the connection itself.
    pub path: Option<String>,
    /// Why, such as `stream reset with PROTOCOL_ERROR`.
    pub reason: String,
}

/// What the driver answered the harness.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerFact {
    /// The case's name for it.
    pub name: String,
    /// The CSI method.
    pub call: Method,
    /// The class of the call.
    pub class: Option<String>,
    /// The segment of the call, as cases write it.
    pub segment: Option<String>,
    /// `OK` or the gRPC code; `NOT_ASKED` where the call needed a figure of an answer that did not come.
    pub code: String,
    /// Why not.
    pub message: Option<String>,
    /// Figures by name: numbers of bytes, texts, and 1 or 0 for yes and no.
    pub told: BTreeMap<String, Value>,
}

/// A call of an extender that the harness plays, with its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtenderFact {
    /// The case's name for it.
    pub extender: String,
    /// filter, prioritize or bind.
    pub verb: String,
    /// The pod.
    pub pod: String,
    /// The nodes of the call.
    pub nodes: Vec<String>,
    /// Those that it left, for filter.
    pub kept: Vec<String>,
    /// What it answered instead.
    pub error: Option<String>,
}

/// What discovery said of one resource.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveryFact {
    /// The resource with its group, such as `csistoragecapacities.storage.k8s.io`.
    pub resource: String,
    /// The versions in which it is served, the preferred one first.
    pub versions: Vec<String>,
    /// Why discovery said nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What was read of metrics at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricsFact {
    /// One for each that was read.
    pub readings: Vec<Reading>,
}

/// The metrics of one program.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reading {
    /// Its client name, or `server`.
    pub client: Arc<str>,
    /// The series that the case reads.
    pub samples: Vec<Sample>,
    /// How many series it told in all.
    pub told: usize,
    /// Why nothing could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What few calls have.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CallDetails {
    /// minimum_volume_size, for GetCapacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<i64>,
    /// Volume capabilities of GetCapacity and CreateVolume, such as `mount SINGLE_NODE_WRITER`; a dash stands for what one does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// What the CSI specification does not allow in the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// Names of the secrets that came along.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// mutable_parameters, for CreateVolume.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mutable: BTreeMap<String, String>,
    /// The segments in one of which CreateVolume was to make the volume, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requisite: Vec<String>,
    /// The volume of which CreateVolume wanted a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
}

/// A volume that takes room.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacedVolume {
    /// The segment of its pool; none: it is reachable from everywhere.
    pub segment: Option<String>,
    /// Its size, in bytes.
    pub bytes: i64,
}
