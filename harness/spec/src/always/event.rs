//! What happens in a history.

use std::sync::Arc;
use std::time::Duration;

use capacity_types::Segment;

use super::author::Author;
use super::order::Order;
use super::request::Request;
use crate::volumes::Creation;
use crate::world::{CapacityObject, Change, Figures, Instance, NamespacedName, Parameters};

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Event {
    /// The surroundings change: whatever no program under judgement has done.
    Changed(Change),
    /// A capacity object is written, and the API server has taken it.
    Wrote {
        /// By whom.
        by: Author,
        /// The object's key.
        key: NamespacedName,
        /// As it is then; none: it is deleted.
        object: Option<CapacityObject>,
    },
    /// The user asks the API server for this. All that was asked for before is answered.
    Ordered(Vec<Order>),
    /// The API server has refused that, with this HTTP status.
    Refused(u16),
    /// Everything is there that a case begins with.
    Prepared,
    /// A program begins to run, or ends, by its name for the API server: what it knew only by itself is forgotten.
    Began(Arc<str>),
    /// A program has asked the API server for something.
    Requested(Request),
    /// A request or a watch of a program has failed, through no fault of its own.
    Disturbed,
    /// A replica of a publisher takes or renews the Lease, by its name for the API server.
    Led(Arc<str>),
    /// A publisher is sent an event of a capacity object.
    Delivered {
        /// The publisher.
        to: Instance,
        /// The object's key.
        key: NamespacedName,
    },
    /// The driver is asked for capacity.
    Asked {
        /// By whom.
        by: Author,
        /// The driver.
        driver: String,
        /// `accessible_topology`.
        segment: Segment,
        /// `parameters`.
        parameters: Parameters,
        /// What it answers; none: an error, or nothing.
        answer: Option<Figures>,
        /// What it may answer by what its storage has been since everything was last quiet; empty: that is not known.
        possible: Vec<Figures>,
        /// When, since the history began; none: calls may take a while, and when this one began is not known.
        at: Option<Duration>,
    },
    /// A driver is asked to make a volume.
    Created(Creation),
    /// A driver has deleted a volume.
    Deleted {
        /// `volume_id`.
        id: String,
        /// Who asked for that.
        by: Author,
    },
    /// An Event object about a claim is written.
    Told(NamespacedName),
    /// The scheduler chooses a node for a claim that waits for its pod.
    Selected {
        /// The claim.
        claim: NamespacedName,
        /// The node.
        node: String,
    },
    /// The scheduler asks an extender which of these nodes a pod may go to.
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
    /// Nothing is in flight, every watch is at the newest revision, and every publisher has asked the driver since the last change.
    Quiet,
}
