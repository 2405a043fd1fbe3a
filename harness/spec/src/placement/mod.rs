//! Feasible nodes of a pod, and the best of them.
//!
//! ```text
//! claims     the PVCs of a pod, or why it fits no node
//! fit        constraints between pods and nodes other than volumes
//! volumes    static binding of unbound PVCs
//! assumed    PersistentVolumes that may be assumed for other pods
//! provision  whether a volume can be provisioned: class, topology, capacity
//! reason     why a node is not feasible
//! shape, score  KEP-4049: which feasible node is best
//! indexed_world  a world indexed for many pods
//! by_label   index by node labels
//! decision   verdicts of all nodes
//! judge      compares actual decisions with the allowed ones
//! ```

pub(crate) mod assumed;
mod by_label;
mod claims;
mod decision;
mod fit;
mod indexed_world;
mod judge;
mod provision;
mod reason;
mod score;
mod shape;
mod volumes;

pub use claims::PodRejection;
pub use decision::{Decision, NodeVerdict};
pub use indexed_world::IndexedWorld;
pub use judge::{Outcome, judge, pending_violations};
pub use reason::Reason;
