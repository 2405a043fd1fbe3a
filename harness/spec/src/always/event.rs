//! The events of a history.

use std::sync::Arc;
use std::time::Duration;

use capacity_types::Segment;

use super::author::Author;
use super::order::Order;
use super::request::Request;
use crate::volumes::Creation;
use crate::world::{CapacityObject, Change, Figures, Instance, NamespacedName, Parameters};

/// One event.
#[derive(Clone, Debug)]
pub enum Event {
    /// The environment changes: anything that no checked program caused.
    Changed(Change),
    /// A capacity object was written to the API server.
    Wrote {
        /// The writer.
        by: Author,
        /// The object's key.
        key: NamespacedName,
        /// The new object. `None`: it was deleted.
        object: Option<CapacityObject>,
    },
    /// The user sends these requests to the API server. All earlier ones have been answered.
    Ordered(Vec<Order>),
    /// The API server rejected the user's request with this HTTP status.
    Refused(u16),
    /// All initial objects of a case exist.
    Prepared,
    /// A program starts or exits, by the name of its API client: state that only it knew is lost.
    Began(Arc<str>),
    /// A program sent a request to the API server.
    Requested(Request),
    /// A request or a watch of a program failed through no fault of its own.
    Disturbed,
    /// A replica of a publisher acquired or renewed the Lease, by the name of its API client.
    Led(Arc<str>),
    /// A publisher receives a watch event of a capacity object.
    Delivered {
        /// The publisher.
        to: Instance,
        /// The object's key.
        key: NamespacedName,
    },
    /// A GetCapacity call.
    Asked {
        /// The caller.
        by: Author,
        /// The driver.
        driver: String,
        /// `accessible_topology`.
        segment: Segment,
        /// `parameters`.
        parameters: Parameters,
        /// The response. `None`: an error or no response.
        answer: Option<Figures>,
        /// Possible responses, given the storage since the last quiescence. Empty: unknown.
        possible: Vec<Figures>,
        /// Time since the start of the history. `None`: unknown, because the driver delays calls.
        at: Option<Duration>,
    },
    /// A CreateVolume call.
    Created(Creation),
    /// A DeleteVolume call succeeded.
    Deleted {
        /// `volume_id`.
        id: String,
        /// The caller.
        by: Author,
    },
    /// An Event object about a PVC was written.
    Told(NamespacedName),
    /// The scheduler selects a node for a PVC with delayed binding.
    Selected {
        /// The claim.
        claim: NamespacedName,
        /// The node.
        node: String,
    },
    /// The scheduler calls an extender's filter for a pod.
    Filtered {
        /// The extender's name.
        extender: String,
        /// The pod.
        pod: NamespacedName,
        /// The nodes.
        nodes: Vec<String>,
    },
    /// The scheduler binds a pod to a node.
    Placed {
        /// The pod.
        pod: NamespacedName,
        /// The node.
        node: String,
    },
    /// Quiescence: nothing is in flight, every watch is at the newest revision, and every publisher has polled since the last change.
    Quiet,
}
