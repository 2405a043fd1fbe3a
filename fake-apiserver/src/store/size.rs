//! Limits of the size and depth of objects. The size limits are those of etcd and its client.
//!
//! Owns the limits and their messages. Measures objects in kube-apiserver's storage format: protobuf without
//! resourceVersion.

use crate::kinds::Kind;
use crate::machinery::json;
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::object::Object;

/// Maximum size, in bytes, of a request that etcd accepts (`--max-request-bytes`).
const TAKEN_BYTES_MAX: usize = 1536 * 1024;
const SENT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Measured overhead, in bytes, of an etcd request: its size without the object and without the two copies of the key.
const TAKEN_FRAME_BYTES: usize = 40;
const SENT_FRAME_BYTES: usize = 25;

/// Rejects an object, including managedFields, that is nested deeper than the JSON parser's limit.
pub(super) fn check_depth(object: &Object) -> Result<(), Status> {
    match json::text_nests_within(json::DEPTH_MAX, object.bytes()) {
        true => Ok(()),
        false => Err(Status::bad_request(format!(
            "the object is nested deeper than {} levels",
            json::DEPTH_MAX
        ))),
    }
}

/// Rejects an object that is too large for kube-apiserver to store.
pub(super) fn check(kind: &Kind, key: &str, object: &Object) -> Result<(), Status> {
    let keys = 2 * kind.registry_key(key, false).len();
    // Protobuf is smaller than JSON, so nearly all objects are accepted here without encoding them.
    if object.bytes().len() + keys + TAKEN_FRAME_BYTES <= TAKEN_BYTES_MAX {
        return Ok(());
    }
    let encoded = object.protobuf().map(|encoded| encoded.whole().len());
    let revision = metadata::text(object.value(), "resourceVersion");
    let bytes = encoded.unwrap_or(object.bytes().len()) + keys - revision.len();
    let sent = bytes + SENT_FRAME_BYTES;
    if sent > SENT_BYTES_MAX {
        return Err(Status::internal(format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max \
             ({sent} vs. {SENT_BYTES_MAX})"
        )));
    }
    if bytes + TAKEN_FRAME_BYTES > TAKEN_BYTES_MAX {
        return Err(Status::internal("etcdserver: request is too large"));
    }
    Ok(())
}
