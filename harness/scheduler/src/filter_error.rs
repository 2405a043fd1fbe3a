//! The error that aborts filtering.

use crate::objects::ObjectKey;

/// An object exists but cannot be read, so the attempt is aborted and retried (KEP-1472: only a missing CSIDriver disables the check).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource} \"{key}\" cannot be read: {problem}")]
pub struct FilterError {
    /// Resource and API group of the object.
    pub resource: &'static str,
    /// Key of the object.
    pub key: ObjectKey,
    /// The parse error.
    pub problem: String,
}
