//! Values that Kubernetes adds to those of CEL.
//!
//! Owns what texts stand for them. Does not know expressions, nor which functions there are.

mod addresses;
mod formats;

pub(super) use addresses::{Range, address};
pub(super) use formats::{Format, named};
