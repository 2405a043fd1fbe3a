//! Who does something in a history.

use crate::world::Instance;

/// Who does something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// A publisher.
    Publisher(Instance),
    /// The cleaner.
    Cleaner,
    /// The scheduler.
    Scheduler,
    /// The user of the cluster, who may do anything.
    User,
    /// Something that has no part in the story, and nothing to ask of anybody.
    Stranger,
    /// Somebody else, who may do anything.
    Other,
}
