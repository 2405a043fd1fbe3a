//! Reference implementation of filter, score and scheduling loop for storage capacity (KEP-1472, KEP-4049).
//!
//! The counterpart of kube-scheduler's VolumeBinding plugin. A decision is a pure function of a [`Snapshot`](snapshot::Snapshot), made by
//! [`cycle::decide`]. [`run`] is the scheduling loop: it handles watch events, attempts pods, and executes decisions.
//!
//! Nodes are filtered as in kube-scheduler's default profile; [`filters`] lists the exceptions. Nodes are scored by storage alone.

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
mod transport;
pub mod volume_index;

pub use self::control::{Error, run, serve_extender};
pub use self::metrics::{Metrics, serve_metrics};
pub use self::options::{Deviation, Options};
pub use self::release::Release;
pub use self::rules::{MessageStyle, Ties};
pub use self::shape::ShapePoint;
pub use self::transport::{Http, Transport};
pub use capacity_client::{Connections, Socket, connections};
