//! Where a pod may go, and where best.
//!
//! ```text
//! claims     the claims of a pod: bound, or to be bound where the pod goes; or why it can go nowhere yet
//! fit        what pods and nodes ask of each other besides volumes
//! volumes    existing volumes for claims that have none
//! assumed    existing volumes that others may have taken in the meantime
//! provision  whether a volume can be made where none exists: class, topology, capacity
//! reason     why a node does not take the pod
//! shape, score  KEP-4049: which of the nodes that fit is best
//! view       a world, arranged for many questions        by_label  what a node's labels can select, without looking at all
//! decision   all nodes together
//! judge      what was decided, against that
//! ```

pub(crate) mod assumed;
mod by_label;
mod claims;
mod decision;
mod fit;
mod judge;
mod provision;
mod reason;
mod score;
mod shape;
mod view;
mod volumes;

pub use claims::Refusal;
pub use decision::{Decision, NodeVerdict};
pub use judge::{Outcome, judge, pending};
pub use reason::Reason;
pub use view::View;
