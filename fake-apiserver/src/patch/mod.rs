//! JSON patches, merge patches, strategic merge patches, and server-side apply with field managers.
//!
//! Operates on values and types. Does not know requests or storage.

pub mod json_patch;
pub(crate) mod managed;
pub(crate) mod strategic;
