//! How large and how deep objects may be. The size is what etcd takes of the real server.
//!
//! Owns the limits and their texts. Objects are measured as the real server stores them: in protobuf, without their
//! resourceVersion.

use crate::kinds::Kind;
use crate::machinery::json;
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::object::Object;

/// Bytes that etcd takes in one request (`--max-request-bytes`), and that its client sends in one.
const TAKEN_BYTES_MAX: usize = 1536 * 1024;
const SENT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes of such a request besides the object and the key, which comes twice; as measured.
const TAKEN_FRAME_BYTES: usize = 40;
const SENT_FRAME_BYTES: usize = 25;

/// Refuses an object that nests deeper than stored objects are read, its field managers included.
pub(super) fn check_depth(object: &Object) -> Result<(), Status> {
    match json::text_nests_within(json::DEPTH_MAX, object.bytes()) {
        true => Ok(()),
        false => Err(Status::bad_request(format!(
            "the object nests deeper than {} levels",
            json::DEPTH_MAX
        ))),
    }
}

/// Refuses an object that the real server could not store.
pub(super) fn check(kind: &Kind, key: &str, object: &Object) -> Result<(), Status> {
    let keys = 2 * kind.registry_key(key, false).len();
    // In protobuf an object is smaller, so that this decides about nearly all.
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
