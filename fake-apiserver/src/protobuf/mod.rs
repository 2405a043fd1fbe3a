//! Kubernetes protobuf: conversion of request and response bodies between protobuf and JSON values.
//!
//! Owns the envelope and the errors. Messages are defined by the type table. After decoding, a request is handled like a JSON request. Does
//! not know HTTP or validation.

mod body;
mod decode;
mod either;
mod encode;
mod envelope;
#[cfg(test)]
mod maker;
mod scalars;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub mod wire;

pub(crate) use body::decode;
pub(crate) use encode::{Encoded, encode, list};
pub(crate) use envelope::watch_frame;

use crate::machinery::status::Status;
use serde_json::Value;

pub(crate) const MEDIA: &str = "application/vnd.kubernetes.protobuf";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CodecError(String);

impl CodecError {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The error for a message that ends inside a field.
    fn end() -> Self {
        Self::new("unexpected EOF")
    }
}

/// Decodes a protobuf body, which contains its type, to the JSON of the object.
///
/// Returns kube-apiserver's 400 if the body is malformed or has no type.
pub fn json_of_protobuf(body: &[u8]) -> Result<Value, Status> {
    decode(body, ("", ""))
}

pub(crate) fn is_known(api_version: &str, kind: &str) -> bool {
    table::TABLE.kind(api_version, kind).is_some()
}
