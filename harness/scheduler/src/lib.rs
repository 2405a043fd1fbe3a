//! Reference filter, score and scheduling loop for storage capacity (KEP-1472, KEP-4049).
//!
//! What kube-scheduler's VolumeBinding plugin is upstream. The decision is a pure function of a
//! [`Snapshot`](snapshot::Snapshot): start reading at [`cycle::decide`]. [`run`] is the loop around it, which learns
//! from watches, attempts pods and carries decisions out.
//!
//! Nodes are filtered as by kube-scheduler's default profile; [`filters`] says what is not looked at. They are scored by storage alone.

pub mod assessment;
pub mod attachments;
pub mod capacity_check;
pub mod capacity_index;
pub mod claims;
pub mod configuration;
mod control;
pub mod cycle;
pub mod extender;
pub mod filter;
pub mod filter_error;
pub mod filters;
mod listen;
pub mod message;
mod metrics;
pub mod naive;
pub mod node_labels;
pub mod node_pods;
pub mod objects;
pub mod options;
pub mod preemption;
pub mod release;
pub mod rules;
pub mod score;
pub mod shape;
pub mod snapshot;
pub mod static_match;
pub mod status;
pub mod store;
pub mod taint_words;
mod transport;
pub mod volume_index;

pub use self::control::{Error, run, serve_extender};
pub use self::listen::{Connections, Socket, connections};
pub use self::metrics::{Metrics, serve_metrics};
pub use self::options::{Deviation, Options};
pub use self::release::Release;
pub use self::rules::{Refusals, Ties};
pub use self::shape::ShapePoint;
pub use self::transport::{Http, Transport};
