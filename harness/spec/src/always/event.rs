//! The events of a history: what happens in a cluster, in order.

use std::sync::Arc;
use std::time::Duration;

use capacity_types::Segment;

use super::request::{Actor, Request};
use super::user_request::UserRequest;
use crate::volumes::CreateVolumeCall;
use crate::world::{CapacityObject, Change, Instance, NamespacedName, Parameters, ReportedCapacity};

/// One event in the history of a cluster.
#[derive(Clone, Debug)]
pub enum Event {
    /// A change in the cluster that no checked program caused.
    Changed(Change),
    /// A client wrote a CSIStorageCapacity object to the API server.
    ObjectWritten {
        /// The client that wrote the object.
        by: Actor,
        /// Namespace and name of the object.
        key: NamespacedName,
        /// The object after the write. `None`: the object was deleted.
        object: Option<CapacityObject>,
    },
    /// The user sends these requests to the API server, after all earlier requests have completed.
    UserRequested(Vec<UserRequest>),
    /// The API server rejected a request of the user with this HTTP status.
    UserRequestRejected(u16),
    /// All initial objects of a case have been created.
    InitialObjectsCreated,
    /// The program with this client name starts or exits, so its in-memory state is lost.
    ClientRestarted(Arc<str>),
    /// A program sent a request to the API server.
    ApiRequested(Request),
    /// A request or a watch of a program failed because of an injected fault.
    RequestFailed,
    /// The publisher replica with this client name acquired or renewed the Lease.
    LeaseHeld(Arc<str>),
    /// A publisher receives a watch event of a CSIStorageCapacity object.
    ObjectDelivered {
        /// The publisher that receives the event.
        to: Instance,
        /// Namespace and name of the object.
        key: NamespacedName,
    },
    /// A GetCapacity call.
    GetCapacity {
        /// The client that calls GetCapacity.
        by: Actor,
        /// Name of the driver.
        driver: String,
        /// `accessible_topology` of the request.
        segment: Segment,
        /// `parameters` of the request.
        parameters: Parameters,
        /// The returned capacity. `None`: an error, or no response.
        response: Option<ReportedCapacity>,
        /// The capacities that the driver may correctly return, given its free storage since the last quiescence. Empty: unknown.
        possible: Vec<ReportedCapacity>,
        /// Time since the start of the history. `None`: unknown, because the driver may delay calls.
        at: Option<Duration>,
    },
    /// A CreateVolume call.
    CreateVolume(CreateVolumeCall),
    /// A DeleteVolume call succeeded.
    VolumeDeleted {
        /// `volume_id` of the request.
        id: String,
        /// The client that calls DeleteVolume.
        by: Actor,
    },
    /// A client created an Event object about this PVC.
    EventRecorded(NamespacedName),
    /// The scheduler selects a node for a PVC with delayed binding.
    NodeSelected {
        /// Namespace and name of the PVC.
        claim: NamespacedName,
        /// Name of the selected node.
        node: String,
    },
    /// The scheduler sends a filter request for a pod to an extender.
    ExtenderCalled {
        /// Name of the extender.
        extender: String,
        /// Namespace and name of the pod.
        pod: NamespacedName,
        /// Names of the nodes in the request.
        nodes: Vec<String>,
    },
    /// The scheduler binds a pod to a node.
    PodBound {
        /// Namespace and name of the pod.
        pod: NamespacedName,
        /// Name of the node to which the pod is bound.
        node: String,
    },
    /// Quiescence: no request is in flight, every watch is at the newest revision, and every publisher has polled GetCapacity since the
    /// last change.
    Quiescent,
}
