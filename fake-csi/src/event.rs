//! What the driver reports to its observer: one event for each call that ended. Does not know who listens or what for.

use std::{collections::BTreeMap, time::Duration};

use tonic::Status;

use crate::{
    Segment,
    method::{Method, code_name},
};

/// Hears about every call when it is answered.
pub trait Observer: Send + Sync {
    /// Takes one event.
    ///
    /// It is called while the driver's books are locked, so that the order of events is the order in which the calls took effect. It
    /// must therefore return quickly, and must not call the driver.
    fn observe(&self, event: Event);

    /// Takes what a socket refused before it was a call. Does nothing unless it is implemented.
    fn refused(&self, _refusal: Refusal) {}
}

/// Who called: one connection of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Number of the connection, unique among all sockets of this process.
    pub connection: u64,
    /// Id of the process at the other end, where the system reports it.
    pub pid: Option<i32>,
}

/// A connection or request that a socket refused before it was a call of the driver: it is not HTTP/2, breaks the protocol, names an
/// unknown method, or has a message that is too large or cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The node id of the endpoint; `None` for a controller-only endpoint.
    pub node: Option<String>,
    /// Who connected.
    pub peer: Peer,
    /// `:path` of the request, such as `/csi.v1.Controller/GetCapacity`; `None` for the connection itself, or where it is unknown.
    pub path: Option<String>,
    /// Why, such as `stream reset with PROTOCOL_ERROR`.
    pub reason: String,
}

/// A call and how it ended. Fields that the call does not have are empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Which call.
    pub method: Method,
    /// The node id of the endpoint that was called; `None` for a controller-only endpoint.
    pub node: Option<String>,
    /// Who called.
    pub peer: Peer,
    /// The segment that the call is about: `accessible_topology` of GetCapacity, the first choice of CreateVolume (preferred before
    /// requisite), the pool of the volume for
    /// DeleteVolume, ControllerExpandVolume and NodePublishVolume. `None` where the request has no topology at all.
    pub segment: Option<Segment>,
    /// `accessibility_requirements.requisite` of CreateVolume.
    pub requisite: Vec<Segment>,
    /// `accessibility_requirements.preferred` of CreateVolume.
    pub preferred: Vec<Segment>,
    /// Parameters of GetCapacity and CreateVolume, as they came.
    pub parameters: BTreeMap<String, String>,
    /// Names of the secrets of CreateVolume, DeleteVolume and ControllerModifyVolume; their values are nobody's business.
    pub secrets: Vec<String>,
    /// `mutable_parameters` of CreateVolume and ControllerModifyVolume.
    pub mutable_parameters: BTreeMap<String, String>,
    /// The volume, or the snapshot, of which CreateVolume wanted a copy.
    pub source: Option<String>,
    /// The volume capabilities of GetCapacity and CreateVolume, such as `mount SINGLE_NODE_WRITER`; a dash stands for what one does not say.
    pub capabilities: Vec<String>,
    /// What the specification does not allow in GetCapacity and CreateVolume, whether or not the driver refused it.
    pub violations: Vec<String>,
    /// `capacity_range.required_bytes` of CreateVolume and ControllerExpandVolume; `None` without a range.
    pub required_bytes: Option<i64>,
    /// `capacity_range.limit_bytes` of CreateVolume and ControllerExpandVolume; `None` without a range.
    pub limit_bytes: Option<i64>,
    /// The name that CreateVolume asked for.
    pub volume_name: Option<String>,
    /// The volume that the call named, or that CreateVolume answered.
    pub volume_id: Option<String>,
    /// `target_path` of NodePublishVolume and NodeUnpublishVolume.
    pub target_path: Option<String>,
    /// What was answered.
    pub outcome: Result<Answer, Failure>,
    /// Whether the connection was cut instead of sending the answer.
    pub lost: bool,
    /// Time from the arrival of the call to its answer.
    pub elapsed: Duration,
}

/// A successful answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Nothing worth telling beyond success.
    Done,
    /// Of GetCapacity, in bytes.
    Capacity {
        /// `available_capacity`.
        available: i64,
        /// `maximum_volume_size`, if reported.
        maximum: Option<i64>,
        /// `minimum_volume_size`, if reported.
        minimum: Option<i64>,
    },
    /// Of CreateVolume and ControllerExpandVolume.
    Volume {
        /// `capacity_bytes`.
        bytes: i64,
        /// The only term of `accessible_topology`; `None` if the volume is reachable from everywhere.
        segment: Option<Segment>,
    },
}

/// An answer with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The gRPC code as the CSI specification writes it, for example `RESOURCE_EXHAUSTED`. `CANCELLED` if the caller gave up.
    pub code: &'static str,
    /// The message that went with it.
    pub message: String,
}

impl Event {
    /// An event without anything but its call; the outcome is what holds if nobody ever answers.
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
                message: "the caller gave up".to_owned(),
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
