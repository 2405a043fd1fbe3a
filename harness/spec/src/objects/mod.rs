//! CSIStorageCapacity objects that must, may and must not exist at quiescence.
//!
//! ```text
//! ownership             the publisher of an object
//! by_class_and_segment  map by class and segment
//! cleanup               objects without a running publisher
//! desired               for each publisher, class and segment: the required or allowed object
//! judge                 compares existing objects with the required and allowed ones
//! settled               the objects that correct programs leave
//! ```

mod by_class_and_segment;
mod cleanup;
mod desired;
mod judge;
mod ownership;
mod settled;

pub(crate) use by_class_and_segment::ByClassAndSegment;
pub use desired::{DesiredObject, DesiredObjects, DesiredState};
pub use judge::judge;
pub(crate) use judge::judge_since;
pub use settled::settled;
