//! Facts about services other than the API server: CSI calls, scheduler extenders, API discovery and metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use fake_csi::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use capacity_types::exposition::Sample;

/// A CSI call and its response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFact {
    /// The CSI method.
    pub method: Method,
    /// Node of the driver instance that was called; unset for a central driver.
    pub node: Option<String>,
    /// Topology segment in the request; unset if the request has no topology.
    pub segment: Option<String>,
    /// StorageClass parameters in the CSI request.
    pub parameters: BTreeMap<String, String>,
    /// Name of the volume, or its id if the CSI call contains no name; unset for calls without a volume.
    pub volume: Option<String>,
    /// Id of the volume, if the request or response contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_id: Option<String>,
    /// CreateVolume: the volume that the driver created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<PlacedVolume>,
    /// CreateVolume: `required_bytes`.
    pub required_bytes: Option<i64>,
    /// `OK` or the gRPC code.
    pub code: String,
    /// Error message of a failed call. For a successful call, why the client did not receive the response.
    pub message: Option<String>,
    /// GetCapacity: `available_capacity`.
    pub available: Option<i64>,
    /// GetCapacity: `maximum_volume_size`.
    pub maximum: Option<i64>,
    /// Fields that only some CSI methods have.
    #[serde(flatten)]
    pub details: Box<CallDetails>,
}

impl CallFact {
    /// Whether the client received a successful response. The message of a call with code `OK` means that the response was lost.
    pub fn has_received_response(&self) -> bool {
        self.code == "OK" && self.message.is_none()
    }
}

/// A connection or request that the driver's socket rejected, so that no CSI call took place.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusalFact {
    /// Node of the driver instance; unset for a central driver.
    pub node: Option<String>,
    /// Name of the program that connected, if the operating system reports it, such as `python3`.
    pub program: Option<String>,
    /// Process id of the program that connected.
    pub pid: Option<i32>,
    /// Path of the rejected request, such as `/csi.v1.Controller/GetCapacity`; unset if the connection itself was rejected.
    pub path: Option<String>,
    /// Why the connection or request was rejected, such as `stream reset with PROTOCOL_ERROR`.
    pub reason: String,
}

/// The driver's response to a CSI call that the harness made for the case.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HarnessCallFact {
    /// Name that the case has given the driver's response.
    pub name: String,
    /// The CSI method.
    pub call: Method,
    /// StorageClass whose parameters the CSI call contained.
    pub class: Option<String>,
    /// Topology segment of the CSI call, spelled as in case files.
    pub segment: Option<String>,
    /// `OK` or the gRPC code; `NOT_ASKED` if the call was not made, because an earlier response lacks a value that the call needs.
    pub code: String,
    /// Error message of a failed call.
    pub message: Option<String>,
    /// Fields of the response by name: numbers (of bytes), strings, and 1 or 0 for booleans.
    #[serde(rename = "told")]
    pub values: BTreeMap<String, Value>,
}

/// A call from the scheduler to a scheduler extender that the harness runs, and the extender's response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtenderFact {
    /// Name of the scheduler extender in the case.
    pub extender: String,
    /// Operation of the extender: `filter`, `prioritize` or `bind`.
    pub verb: String,
    /// Name of the pod in the extender request.
    pub pod: String,
    /// Names of the candidate nodes in the request.
    pub nodes: Vec<String>,
    /// `filter` only: feasible nodes in the response.
    #[serde(rename = "kept")]
    pub feasible: Vec<String>,
    /// Error message in the extender's response.
    pub error: Option<String>,
}

/// Result of API discovery for one resource.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveryFact {
    /// The resource and its API group, such as `csistoragecapacities.storage.k8s.io`.
    pub resource: String,
    /// Served API versions of the resource, the preferred one first.
    pub versions: Vec<String>,
    /// Error message if discovery failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The metrics of all programs, scraped at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricsFact {
    /// The scraped metrics, one element per program.
    pub readings: Vec<ScrapedMetrics>,
}

/// The scraped metrics of one program.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScrapedMetrics {
    /// Client name of the program; `server` for the API server.
    pub client: Arc<str>,
    /// Samples of the metrics to which the case refers.
    pub samples: Vec<Sample>,
    /// Number of all series of the program, including metrics to which the case does not refer.
    #[serde(rename = "told")]
    pub series_count: usize,
    /// Error message if the metrics could not be scraped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Fields of a CSI call that only some CSI methods have.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CallDetails {
    /// GetCapacity: `minimum_volume_size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<i64>,
    /// GetCapacity and CreateVolume: volume capabilities such as `mount SINGLE_NODE_WRITER`, with `-` for an unset part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Violations of the CSI specification in the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// Keys of the secrets in the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// CreateVolume: `mutable_parameters`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mutable: BTreeMap<String, String>,
    /// CreateVolume: requisite segments of the request, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requisite: Vec<String>,
    /// CreateVolume: id of the volume or snapshot from which the volume is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
}

/// A volume that a call created or expanded.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacedVolume {
    /// Topology segment of the volume's pool; unset if the volume is accessible from every node.
    pub segment: Option<String>,
    /// Size of the volume in bytes.
    pub bytes: i64,
}
