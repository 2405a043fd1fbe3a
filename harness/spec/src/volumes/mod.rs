//! Volumes that provisioners make: what they owe to claims once everything is quiet, and what they may ask of a driver at any time.
//!
//! ```text
//! ledger   what drivers were asked to make, and what they have made
//! judge    ledger and world → what is wrong once everything is quiet
//! ```
//!
//! A provisioner and a publisher are one program, as in external-provisioner: an [`Instance`] that publishes nothing still provisions. A
//! volume is known to be for a claim by its name, which holds the claim's uid; nothing is said of a volume with another name but that it
//! must not be left behind.
//!
//! [`Instance`]: crate::world::Instance

mod judge;
mod ledger;

use capacity_types::Segment;

pub use judge::judge;
pub use ledger::{Creation, Ending, Ledger};

use crate::world::{Claim, Parameters};

/// The storage behind a driver, as it is now.
pub trait Backend {
    /// Whether the driver carries out what it is asked for.
    fn is_up(&self) -> bool;

    /// Whether a volume of so many bytes with these parameters, raw or mounted, can be made in a segment.
    fn has_room(&self, segment: &Segment, parameters: &Parameters, is_block: bool, bytes: i128) -> bool;
}

/// Whether a volume of this name is for a claim.
pub(crate) fn is_for(name: &str, claim: &Claim) -> bool {
    !claim.uid.is_empty() && name.contains(&claim.uid)
}
