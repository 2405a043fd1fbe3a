//! Subresources of pods that have the type Pod and update a part of it.

mod common;
mod ephemeral;
mod resize;

use super::super::PartHooks;

pub(super) const PARTS: &[PartHooks] = &[ephemeral::PART, resize::PART];
