//! Who caused an event.

use crate::world::Instance;

/// Who caused an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A publisher.
    Publisher(Instance),
    /// The cleaner, which deletes the CSIStorageCapacity objects of nodes without the driver.
    Cleaner,
    /// The scheduler.
    Scheduler,
    /// The user of the cluster, whose actions are never violations.
    User,
    /// A client of the driver that is not a publisher. Only publishers may call GetCapacity.
    Unrelated,
    /// Any other client, whose actions are never violations.
    Other,
}
