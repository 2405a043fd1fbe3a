//! The vocabulary of storage-capacity tracking: values that the Kubernetes API defines, and that mean the same for every program.
//!
//! Deliberately absent: every decision. What a publisher writes, which node a scheduler chooses and what a verdict wants is said where
//! it is decided, once by each of them. No I/O, no clients, no types of the API: texts, numbers and maps come in as the API spells them.

pub mod capacity_api;
mod capacity_values;
mod claim;
pub mod exposition;
pub mod flow;
mod labels;
mod node_selector;
pub mod pod;
pub mod quantity;
mod requirement;
pub mod segment;
mod selector;

pub use self::capacity_values::CapacityValues;
pub use self::claim::{ephemeral_claim_name, ephemeral_volume};
pub use self::flow::flow;
pub use self::labels::{DRIVER_LABEL, MANAGED_BY_LABEL};
pub use self::node_selector::NodeSelector;
pub use self::quantity::{Arithmetic, Quantity, QuantityError};
pub use self::requirement::{Operator, Requirement, RequirementError};
pub use self::segment::Segment;
pub use self::selector::{Expression, LabelSelector, NodeTopology};

/// What the names of a class's parameters begin with that are meant for the sidecars. CreateVolume does not get them, so GetCapacity does
/// not either (CSI: the same parameters as CreateVolume).
pub const SIDECAR_PREFIX: &str = "csi.storage.k8s.io/";

/// The labels of an object, or other values by key, as the API types hold them.
pub type Labels = std::collections::BTreeMap<String, String>;
