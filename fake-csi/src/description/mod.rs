//! Backends and reservations as text: what JSON and YAML may say, and how it becomes what the driver takes. Does not know where a
//! text comes from, nor what the driver does with it.
//!
//! Unknown keys are errors everywhere, so that a typing error is not an idle setting.

mod cost;
mod pool;
mod reservation;
mod size;

pub use cost::CostSpec;
pub use pool::{AccessText, DeviceSpec, FilesystemSpec, PoolSpec, PoolText};
pub use reservation::{HeldText, ReservationSpec, ReservedVolumeSpec};
pub use size::{Size, SizeError};
