//! Why the filter cannot decide at all.

use crate::objects::ObjectKey;

/// The filter cannot decide, so the attempt is aborted and repeated (KEP-1472: only an absent driver skips the check).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource} \"{key}\" cannot be read: {problem}")]
pub struct FilterError {
    /// Resource and group of the object.
    pub resource: &'static str,
    /// The object.
    pub key: ObjectKey,
    /// What is wrong with it.
    pub problem: String,
}
