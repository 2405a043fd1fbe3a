//! The originator of an event.

use crate::world::Instance;

/// The originator of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A publisher.
    Publisher(Instance),
    /// The cleaner.
    Cleaner,
    /// The scheduler.
    Scheduler,
    /// The user of the cluster, who may do anything.
    User,
    /// A component that has no role here and must not call the driver.
    Unrelated,
    /// Any other client, which may do anything.
    Other,
}
