//! patch: JSON patch and merge patch, applied to the newest object in the form of the requested resource.

use super::create::place;
use super::update::{check_name, replace};
use super::{dry_run, existing, field_validation, shown};
use crate::call::{Answer, Call, Patch, Payload};
use crate::decode::{check_unknown, decode};
use crate::kinds::Kind;
use crate::status::Status;
use crate::store::Txn;
use json_patch::PatchOperation;
use serde_json::Value;

/// Operations that one JSON patch may have.
const OPERATIONS_MAX: usize = 10_000;

pub(super) fn patch(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let kind = call.target.kind;
    let Payload::Patch(style, patch) = &call.payload else {
        return Err(Status::bad_request(
            "the request has no body; send a patch as JSON",
        ));
    };
    txn.dry_run = dry_run(&call.params, &Value::Null, "PatchOptions")?;
    let validation = field_validation(&call.params, "PatchOptions")?;
    let operations = operations(*style, patch)?;
    let old = existing(txn, call)?;
    let mut document = present(kind, &old.value);
    match operations {
        Some(operations) => {
            json_patch::patch(&mut document, &operations).map_err(|_| Status::patch_does_not_apply())?;
        }
        None => json_patch::merge(&mut document, patch),
    }
    let decoded = decode(kind, document)?;
    let warnings = check_unknown(kind, &decoded, validation)?;
    txn.warnings.extend(warnings);
    let mut object = decoded.object;
    check_name(&call.target, &object)?;
    place(kind, call.target.namespace.as_deref(), &mut object)?;
    let object = replace(txn, &call.target, &old, object)?;
    Ok(Answer::Object {
        code: 200,
        object: shown(kind, object),
    })
}

/// The object as its readers know it, which is what a patch speaks about.
fn present(kind: &Kind, object: &Value) -> Value {
    match kind.view {
        Some(view) => (view.from_stored)(object),
        None => object.clone(),
    }
}

/// The operations of a JSON patch; `None` for a merge patch.
fn operations(style: Patch, patch: &Value) -> Result<Option<Vec<PatchOperation>>, Status> {
    match style {
        Patch::Merge if patch.is_object() => Ok(None),
        Patch::Merge => Err(Status::bad_request(
            "error decoding patch: a merge patch is a JSON object",
        )),
        Patch::Json => {
            let count = patch.as_array().map_or(0, Vec::len);
            if count > OPERATIONS_MAX {
                let text = format!(
                    "The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}"
                );
                return Err(Status::failure(413, "RequestEntityTooLarge", text));
            }
            serde_json::from_value(patch.clone())
                .map(Some)
                .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))
        }
    }
}
