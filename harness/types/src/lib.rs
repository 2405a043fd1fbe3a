//! Types and constants of storage capacity tracking that the Kubernetes API defines, shared by all programs of this project.
//!
//! Contains no decisions: publisher, scheduler and specification (`capacity-spec`) decide independently. No I/O, no clients, and no API
//! types: callers pass strings, numbers and maps in the form of the API.

pub mod capacity_api;
mod capacity_values;
pub mod exposition;
pub mod flow;
mod node_selector;
pub mod pod;
pub mod quantity;
mod requirement;
pub mod segment;
mod selector;

pub use self::capacity_api::{DRIVER_LABEL, MANAGED_BY_LABEL};
pub use self::capacity_values::CapacityValues;
pub use self::flow::format_flow;
pub use self::node_selector::NodeSelector;
pub use self::pod::{ephemeral_claim_name, ephemeral_volume_name};
pub use self::quantity::{ByteConversion, Quantity, QuantityError};
pub use self::requirement::{Operator, Requirement, RequirementError};
pub use self::segment::Segment;
pub use self::selector::{Expression, LabelSelector, NodeTopology};

/// Prefix of StorageClass parameters that are meant for the sidecars. Neither CreateVolume nor GetCapacity receives these parameters (CSI
/// requires equal parameters for both calls).
pub const SIDECAR_PREFIX: &str = "csi.storage.k8s.io/";

/// Labels of an API object, or values by key in general.
pub type Labels = std::collections::BTreeMap<String, String>;
