//! The error that aborts filtering.

use crate::objects::ObjectKey;

/// An object cannot be read, so the attempt is aborted and retried (KEP-1472: only a missing CSIDriver skips the check).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource} \"{key}\" cannot be read: {problem}")]
pub struct FilterError {
    /// Resource and API group.
    pub resource: &'static str,
    /// The object.
    pub key: ObjectKey,
    /// The parse error.
    pub problem: String,
}
