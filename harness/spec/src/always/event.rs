//! What happens in a history.

use capacity_types::Segment;

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
    },
    /// A driver is asked to make a volume.
    Created(Creation),
    /// A driver has deleted the volume with this `volume_id`.
    Deleted(String),
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

/// Who does something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// A publisher.
    Publisher(Instance),
    /// The cleaner.
    Cleaner,
    /// The scheduler.
    Scheduler,
    /// Somebody else, who may do anything.
    Other,
}
