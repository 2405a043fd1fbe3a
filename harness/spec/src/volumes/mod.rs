//! Provisioned volumes: which volumes must exist at quiescence, and which CreateVolume and DeleteVolume calls are allowed.
//!
//! ```text
//! ledger   CreateVolume calls and existing volumes
//! judge    ledger and world → violations at quiescence
//! ```
//!
//! Provisioner and publisher are one program, as in external-provisioner: an [`Instance`] with publishing disabled still provisions. The
//! volume name contains the PVC's UID and thus identifies the PVC. A volume with another name is only checked for leaks.
//!
//! [`Instance`]: crate::world::Instance

mod judge;
mod ledger;

use capacity_types::Segment;

pub use judge::judge;
pub use ledger::{CreateVolumeCall, CreateVolumeResult, Ledger};

use crate::world::{Claim, Parameters};

/// The current storage of a driver.
pub trait Backend {
    /// Whether the driver executes calls; false while the driver is stopped or returns errors.
    fn is_up(&self) -> bool;

    /// Whether a volume of this size with these parameters, block or mounted, can be created in a segment.
    fn can_create(&self, segment: &Segment, parameters: &Parameters, is_block: bool, bytes: i128) -> bool;
}

/// Whether a volume name contains the UID of a PVC, so that the volume belongs to the PVC.
pub(crate) fn is_volume_of(name: &str, claim: &Claim) -> bool {
    !claim.uid.is_empty() && name.contains(&claim.uid)
}
