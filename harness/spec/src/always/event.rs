//! The events of a history.

use std::sync::Arc;
use std::time::Duration;

use capacity_types::Segment;

use super::actor::Actor;
use super::request::Request;
use super::user_request::UserRequest;
use crate::volumes::CreateVolumeCall;
use crate::world::{CapacityObject, Change, Instance, NamespacedName, Parameters, ReportedCapacity};

/// One event.
#[derive(Clone, Debug)]
pub enum Event {
    /// The environment changes: anything that no checked program caused.
    Changed(Change),
    /// A capacity object was written to the API server.
    ObjectWritten {
        /// The writer.
        by: Actor,
        /// The object's key.
        key: NamespacedName,
        /// The new object. `None`: it was deleted.
        object: Option<CapacityObject>,
    },
    /// The user sends these requests to the API server. All earlier requests have completed.
    UserRequested(Vec<UserRequest>),
    /// The API server rejected the user's request with this HTTP status.
    UserRequestRejected(u16),
    /// All initial objects of a case exist.
    InitialObjectsCreated,
    /// A program starts or exits, by the name of its API client. Its in-memory state is lost.
    ClientRestarted(Arc<str>),
    /// A program sent a request to the API server.
    ApiRequested(Request),
    /// A request or a watch of a program failed because of an injected fault.
    RequestFailed,
    /// A replica of a publisher acquired or renewed the Lease, by the name of its API client.
    LeaseHeld(Arc<str>),
    /// A publisher receives a watch event of a capacity object.
    ObjectDelivered {
        /// The publisher.
        to: Instance,
        /// The object's key.
        key: NamespacedName,
    },
    /// A GetCapacity call.
    GetCapacity {
        /// The caller.
        by: Actor,
        /// The driver.
        driver: String,
        /// `accessible_topology`.
        segment: Segment,
        /// `parameters`.
        parameters: Parameters,
        /// The response. `None`: an error or no response.
        response: Option<ReportedCapacity>,
        /// Possible responses, given the storage since the last quiescence. Empty: unknown.
        possible: Vec<ReportedCapacity>,
        /// Time since the start of the history. `None`: unknown, because the driver delays calls.
        at: Option<Duration>,
    },
    /// A CreateVolume call.
    CreateVolume(CreateVolumeCall),
    /// A DeleteVolume call succeeded.
    VolumeDeleted {
        /// `volume_id`.
        id: String,
        /// The caller.
        by: Actor,
    },
    /// An Event object about a PVC was written.
    EventRecorded(NamespacedName),
    /// The scheduler selects a node for a PVC with delayed binding.
    NodeSelected {
        /// The claim.
        claim: NamespacedName,
        /// The node.
        node: String,
    },
    /// The scheduler calls an extender's filter for a pod.
    ExtenderCalled {
        /// The extender's name.
        extender: String,
        /// The pod.
        pod: NamespacedName,
        /// The nodes.
        nodes: Vec<String>,
    },
    /// The scheduler binds a pod to a node.
    PodBound {
        /// The pod.
        pod: NamespacedName,
        /// The node.
        node: String,
    },
    /// Quiescence: nothing is in flight, every watch is at the newest revision, and every publisher has polled since the last change.
    Quiescent,
}
