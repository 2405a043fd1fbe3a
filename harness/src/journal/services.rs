//! Facts about services other than the API server: CSI calls, scheduler extenders, API discovery and metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use fake_csi::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use capacity_types::exposition::Sample;

/// A CSI call with its response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFact {
    /// The CSI method.
    pub method: Method,
    /// The node whose endpoint was called; unset for the central endpoint.
    pub node: Option<String>,
    /// The topology segment of the request; unset if it had no topology.
    pub segment: Option<String>,
    /// Class parameters, as the driver received them.
    pub parameters: BTreeMap<String, String>,
    /// Name of the volume, for calls about a volume.
    pub volume: Option<String>,
    /// Id of the volume, if the request or response contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_id: Option<String>,
    /// The created volume, for CreateVolume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<PlacedVolume>,
    /// `required_bytes`, for CreateVolume.
    pub required_bytes: Option<i64>,
    /// `OK` or the gRPC code.
    pub code: String,
    /// Error message of a failed call; for a successful call, that the response was lost.
    pub message: Option<String>,
    /// available_capacity, for GetCapacity.
    pub available: Option<i64>,
    /// maximum_volume_size, for GetCapacity.
    pub maximum: Option<i64>,
    /// Fields that few calls have.
    #[serde(flatten)]
    pub details: Box<CallDetails>,
}

impl CallFact {
    /// Whether the client received a successful response: a successful call with a message lost its response.
    pub fn is_answered(&self) -> bool {
        self.code == "OK" && self.message.is_none()
    }
}

/// A connection or request that the driver's socket rejected before it became a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusalFact {
    /// The node of the endpoint; unset for the central endpoint.
    pub node: Option<String>,
    /// The program that connected, if the operating system reports it, such as `python3`.
    pub program: Option<String>,
    /// Its process id.
    pub pid: Option<i32>,
    /// Path of the request, such as `/csi.v1.Controller/GetCapacity`; unset for the connection itself.
    pub path: Option<String>,
    /// Reason, such as `stream reset with PROTOCOL_ERROR`.
    pub reason: String,
}

/// The driver's response to a CSI call of the harness.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerFact {
    /// Name of the response in the case.
    pub name: String,
    /// The CSI method.
    pub call: Method,
    /// Storage class of the call.
    pub class: Option<String>,
    /// Topology segment of the call, as cases write it.
    pub segment: Option<String>,
    /// `OK` or the gRPC code; `NOT_ASKED` if the call needed a value of an earlier response that failed.
    pub code: String,
    /// Error message.
    pub message: Option<String>,
    /// Fields of the response by name: numbers of bytes, texts, and 1 or 0 for true and false.
    #[serde(rename = "told")]
    pub values: BTreeMap<String, Value>,
}

/// A call of a scheduler extender that the harness runs, with its response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtenderFact {
    /// Name of the extender in the case.
    pub extender: String,
    /// `filter`, `prioritize` or `bind`.
    pub verb: String,
    /// Name of the pod.
    pub pod: String,
    /// Names of the nodes in the request.
    pub nodes: Vec<String>,
    /// Feasible nodes of the response, for `filter`.
    #[serde(rename = "kept")]
    pub feasible: Vec<String>,
    /// Error of the response.
    pub error: Option<String>,
}

/// API discovery of one resource.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveryFact {
    /// The resource with its group, such as `csistoragecapacities.storage.k8s.io`.
    pub resource: String,
    /// Served versions, the preferred one first.
    pub versions: Vec<String>,
    /// Why discovery failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// All metrics that were read at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricsFact {
    /// One per program.
    pub readings: Vec<Reading>,
}

/// The metrics of one program.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reading {
    /// Client name of the program, or `server`.
    pub client: Arc<str>,
    /// Samples that the case refers to.
    pub samples: Vec<Sample>,
    /// Number of all series of the program, including those that the case does not refer to.
    #[serde(rename = "told")]
    pub series_count: usize,
    /// Why the metrics could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Fields that few calls have.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CallDetails {
    /// `minimum_volume_size`, for GetCapacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<i64>,
    /// Volume capabilities of GetCapacity and CreateVolume, such as `mount SINGLE_NODE_WRITER`, with a dash for an unset part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Violations of the CSI specification in the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// Keys of the secrets in the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// `mutable_parameters`, for CreateVolume.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mutable: BTreeMap<String, String>,
    /// Requisite segments of CreateVolume, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requisite: Vec<String>,
    /// Id of the source volume of CreateVolume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
}

/// A volume that a call created or expanded.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacedVolume {
    /// Topology segment of its pool; unset if it is accessible from everywhere.
    pub segment: Option<String>,
    /// Size in bytes.
    pub bytes: i64,
}
