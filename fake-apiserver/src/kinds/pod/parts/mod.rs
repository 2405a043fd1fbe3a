//! Subresources that have the form of the pod, of which a part changes.

mod common;
mod ephemeral;
mod resize;

use super::super::PartHooks;

/// The rules for all of them.
pub(super) const PARTS: &[PartHooks] = &[ephemeral::PART, resize::PART];
