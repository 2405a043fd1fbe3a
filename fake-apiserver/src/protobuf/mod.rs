//! Kubernetes protobuf: bodies from and to JSON values.
//!
//! Owns the envelope of bodies and the errors. Everything inside is driven by the table of types, so requests
//! in protobuf go the way of all others from here on. Does not know HTTP, nor what a valid object is.

mod body;
mod decode;
mod either;
mod encode;
mod envelope;
pub(crate) mod gnostic;
#[cfg(test)]
mod maker;
mod scalars;
pub(crate) mod table;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use body::decode;
pub(crate) use encode::{Encoded, encode, list};
pub(crate) use envelope::watch_frame;

use crate::machinery::status::Status;
use serde_json::Value;

/// The media type of bodies.
pub(crate) const MEDIA: &str = "application/vnd.kubernetes.protobuf";

/// Why something is not, or cannot be put into, the protobuf form of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Fault(String);

impl Fault {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The bytes end in the middle of something.
    fn end() -> Self {
        Self::new("unexpected EOF")
    }
}

/// The JSON that stands for the same object as a body in protobuf, which carries its type.
///
/// Fails with the real server's 400 when the bytes are no such body, or do not say what they are.
pub fn json_of_protobuf(body: &[u8]) -> Result<Value, Status> {
    decode(body, ("", ""))
}

/// Whether objects of a kind have a protobuf form.
pub(crate) fn is_known(api_version: &str, kind: &str) -> bool {
    table::TABLE.wire(api_version, kind).is_some()
}
