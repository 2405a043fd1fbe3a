//! The originator of an event.

use crate::world::Instance;

/// The originator of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A publisher.
    Publisher(Instance),
    /// The cleaner, which deletes the objects of nodes without the driver.
    Cleaner,
    /// The scheduler.
    Scheduler,
    /// The user of the cluster, who may do anything.
    User,
    /// An unknown client of the driver. Only publishers may call GetCapacity.
    Unrelated,
    /// Any other client, which may do anything.
    Other,
}
