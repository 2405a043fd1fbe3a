//! JSON patches: the operations, how many there may be, and how much they may copy.
//!
//! Owns these bounds, which are the real server's. What is patched is not known here.

use crate::status::Status;
use json_patch::PatchOperation;
use serde_json::Value;

/// Operations that one patch may have.
const OPERATIONS_MAX: usize = 10_000;
/// Bytes that the copies of one patch may add together: each could double the document.
const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Reads the operations of a patch.
pub(super) fn read(patch: &Value) -> Result<Vec<PatchOperation>, Status> {
    let count = patch.as_array().map_or(0, Vec::len);
    if count > OPERATIONS_MAX {
        let text = format!("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}");
        return Err(Status::failure(413, "RequestEntityTooLarge", text));
    }
    serde_json::from_value(patch.clone())
        .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))
}

/// Applies operations to a document. Where that fails, something of them may be in the document.
pub(super) fn apply(operations: &[PatchOperation], document: &mut Value) -> Result<(), Status> {
    let mut copied = 0;
    for operation in operations {
        if let PatchOperation::Copy(copy) = operation {
            let source = document.pointer(copy.from.as_str());
            copied += source.map_or(0, |source| source.to_string().len());
            if copied > COPIED_BYTES_MAX {
                return Err(Status::patch_does_not_apply());
            }
        }
        // Nothing has to be undone, for nobody uses what is left of the document.
        json_patch::patch_unsafe(document, std::slice::from_ref(operation))
            .map_err(|_| Status::patch_does_not_apply())?;
    }
    Ok(())
}
