//! Reference filter, score and scheduling loop for storage capacity (KEP-1472, KEP-4049).
//!
//! What kube-scheduler's VolumeBinding plugin is upstream. The decision is a pure function of a
//! [`Snapshot`](snapshot::Snapshot): start reading at [`cycle::decide`]. [`run`] is the loop around it, which learns
//! from watches, attempts pods and carries decisions out.
//!
//! Deliberately absent: what a scheduler does besides volumes. Resource requests, taints, host ports, volume limits,
//! spreading, affinity between pods, preemption and extenders are not looked at; [`node_fit`] lists what is.

pub mod capacity_check;
pub mod capacity_index;
pub mod claims;
mod control;
pub mod cycle;
pub mod defect;
pub mod filter;
pub mod message;
pub mod node_fit;
pub mod node_selector;
pub mod objects;
pub mod options;
pub mod quantity;
pub mod requirement;
pub mod rules;
pub mod score;
pub mod selector;
pub mod shape;
pub mod snapshot;
mod static_match;
pub mod store;

pub use self::control::{Error, run};
pub use self::defect::Defect;
pub use self::options::Options;
pub use self::shape::ShapePoint;
