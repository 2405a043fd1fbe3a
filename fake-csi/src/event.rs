//! Events for the driver's observer: one for each CSI call that has ended.

use std::{collections::BTreeMap, time::Duration};

use tonic::Status;

use crate::{
    Segment,
    method::{Method, code_name},
};

/// Receives an event for every CSI call when the call ends.
pub trait Observer: Send + Sync {
    /// Receives the event of one call.
    ///
    /// Called while the driver's state is locked, so that the order of events is the order in which the calls took effect. The
    /// implementation must therefore return quickly, and must not call the driver.
    fn observe(&self, event: Event);

    /// Receives a request that a socket rejected before it became a CSI call. Does nothing by default.
    fn refused(&self, _refusal: Refusal) {}
}

/// The client of a CSI call, identified by its connection and process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Number of the connection, unique among all sockets of this process.
    pub connection: u64,
    /// Id of the peer process, if the operating system reports it.
    pub pid: Option<i32>,
}

/// A connection or request that a socket rejected before it became a CSI call. Causes: it is not HTTP/2, violates the protocol, names an
/// unknown method, or has a message that is too large or cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Id of the endpoint's node; `None` for a controller-only endpoint.
    pub node: Option<String>,
    /// The client whose connection or request was rejected.
    pub peer: Peer,
    /// `:path` of the request, such as `/csi.v1.Controller/GetCapacity`; `None` for the connection itself, or if unknown.
    pub path: Option<String>,
    /// Reason of the rejection, such as `stream reset with PROTOCOL_ERROR`.
    pub reason: String,
}

/// A CSI call and its outcome. Fields that the called method does not have are empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// CSI method of the call.
    pub method: Method,
    /// Id of the called endpoint's node; `None` for a controller-only endpoint.
    pub node: Option<String>,
    /// The client of the call.
    pub peer: Peer,
    /// Topology segment of the call: `accessible_topology` of GetCapacity; the first term of CreateVolume (preferred before requisite); the
    /// segment of the volume's pool for DeleteVolume, ControllerExpandVolume and NodePublishVolume. `None` if the request has no topology.
    pub segment: Option<Segment>,
    /// `accessibility_requirements.requisite` of CreateVolume.
    pub requisite: Vec<Segment>,
    /// `accessibility_requirements.preferred` of CreateVolume.
    pub preferred: Vec<Segment>,
    /// Parameters of GetCapacity and CreateVolume, as received.
    pub parameters: BTreeMap<String, String>,
    /// Keys of the secrets of CreateVolume, DeleteVolume and ControllerModifyVolume; their values are never recorded.
    pub secrets: Vec<String>,
    /// `mutable_parameters` of CreateVolume and ControllerModifyVolume.
    pub mutable_parameters: BTreeMap<String, String>,
    /// Id of the source volume or snapshot of CreateVolume.
    pub source: Option<String>,
    /// The volume capabilities of GetCapacity and CreateVolume, such as `mount SINGLE_NODE_WRITER`, with a dash for an unset access type or
    /// mode.
    pub capabilities: Vec<String>,
    /// Violations of the CSI specification by GetCapacity and CreateVolume requests, whether or not the driver rejected them.
    pub violations: Vec<String>,
    /// `capacity_range.required_bytes` of CreateVolume and ControllerExpandVolume; `None` without a range.
    pub required_bytes: Option<i64>,
    /// `capacity_range.limit_bytes` of CreateVolume and ControllerExpandVolume; `None` without a range.
    pub limit_bytes: Option<i64>,
    /// The `name` of the CreateVolume request.
    pub volume_name: Option<String>,
    /// Id of the volume that the request names or CreateVolume returned.
    pub volume_id: Option<String>,
    /// `target_path` of NodePublishVolume and NodeUnpublishVolume.
    pub target_path: Option<String>,
    /// The response to the call, or the error.
    pub outcome: Result<Answer, Failure>,
    /// Whether a fault rule cut the connection, so that the client did not get the response.
    pub lost: bool,
    /// Time from the arrival of the call to its response.
    pub elapsed: Duration,
}

/// Summary of a successful CSI response.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "control", derive(serde::Serialize), serde(untagged))]
pub enum Answer {
    /// A response of which no values are recorded.
    Done,
    /// Response of GetCapacity, in bytes.
    Capacity {
        /// `available_capacity` of the response.
        available: i64,
        /// `maximum_volume_size` of the response; `None` if unset.
        maximum: Option<i64>,
        /// `minimum_volume_size` of the response; `None` if unset.
        minimum: Option<i64>,
    },
    /// Response of CreateVolume or ControllerExpandVolume.
    Volume {
        /// `capacity_bytes` of the response.
        bytes: i64,
        /// The only term of `accessible_topology` of the volume; `None` if the volume is accessible from everywhere.
        segment: Option<Segment>,
    },
}

/// An error response to a CSI call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The gRPC code, spelled as in the CSI specification, for example `RESOURCE_EXHAUSTED`. `CANCELLED` if the client cancelled the call.
    pub code: &'static str,
    /// The error message of the response.
    pub message: String,
}

impl Event {
    /// Creates an event without arguments. Its outcome is CANCELLED until a response replaces the outcome.
    pub(crate) fn new(method: Method, node: Option<String>, peer: Peer) -> Event {
        Event {
            method,
            node,
            peer,
            segment: None,
            requisite: Vec::new(),
            preferred: Vec::new(),
            parameters: BTreeMap::new(),
            secrets: Vec::new(),
            mutable_parameters: BTreeMap::new(),
            source: None,
            capabilities: Vec::new(),
            violations: Vec::new(),
            required_bytes: None,
            limit_bytes: None,
            volume_name: None,
            volume_id: None,
            target_path: None,
            outcome: Err(Failure {
                code: code_name(tonic::Code::Cancelled),
                message: "the client cancelled the call".to_owned(),
            }),
            lost: false,
            elapsed: Duration::ZERO,
        }
    }
}

impl From<&Status> for Failure {
    fn from(status: &Status) -> Failure {
        Failure {
            code: code_name(status.code()),
            message: status.message().to_owned(),
        }
    }
}
