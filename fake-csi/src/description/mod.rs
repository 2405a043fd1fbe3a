//! Serialized form (JSON, YAML) of pools, cost factors and reservations, and its conversion to the driver's types.
//!
//! Unknown keys are errors everywhere, so that a typo is not silently ignored.

mod cost;
mod pool;
mod reservation;
mod size;

pub use cost::CostSpec;
pub use pool::{DeviceSpec, FilesystemSpec, PoolSpec, PoolText};
pub use reservation::{ReservationSpec, ReservedVolumeSpec};
pub use size::{Size, SizeError};
