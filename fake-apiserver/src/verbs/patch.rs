//! patch: JSON patch, merge patch and strategic merge patch, applied to the newest object in the form of the
//! requested resource.

use super::create::place;
use super::update::{check_name, replace};
use super::{dry_run, existing, field_validation, shown};
use crate::call::{Answer, Call, Patch, Payload};
use crate::decode::{Decoded, decode, said};
use crate::kinds::Kind;
use crate::schema::Type;
use crate::status::Status;
use crate::store::Txn;
use crate::strategic::{self, Misuse};
use json_patch::PatchOperation;
use serde_json::Value;

/// Operations that one JSON patch may have.
const OPERATIONS_MAX: usize = 10_000;

pub(super) fn patch(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let kind = call.target.kind;
    let Payload::Patch(style, body) = &call.payload else {
        return Err(Status::bad_request(
            "the request has no body; send a patch as JSON",
        ));
    };
    txn.dry_run = dry_run(&call.params, &Value::Null, "PatchOptions")?;
    let validation = field_validation(&call.params, "PatchOptions")?;
    let change = Change::read(*style, &body.value)?;
    let old = existing(txn, call)?;
    let mut document = present(kind, &old.value);
    change.apply(kind, &mut document)?;
    let subject = match change {
        Change::Strategic(patch) => strategic::go_map(patch),
        Change::Json(_) | Change::Merge(_) => document.to_string(),
    };
    let Decoded { mut object, flaws } =
        decode(kind, document.into()).map_err(|why| why.of_patch(&subject))?;
    let flaws = said(&body.duplicates, "duplicate").chain(flaws).collect();
    txn.warnings.extend(validation.of_patch(&subject, flaws)?);
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

/// A patch that can be applied.
enum Change<'a> {
    Json(Vec<PatchOperation>),
    Merge(&'a Value),
    Strategic(&'a Value),
}

impl<'a> Change<'a> {
    fn read(style: Patch, patch: &'a Value) -> Result<Self, Status> {
        match style {
            Patch::Merge if patch.is_object() => Ok(Self::Merge(patch)),
            Patch::Strategic if patch.is_object() => Ok(Self::Strategic(patch)),
            Patch::Merge | Patch::Strategic => Err(Status::bad_request(
                "error decoding patch: a merge patch is a JSON object",
            )),
            Patch::Json => operations(patch).map(Self::Json),
        }
    }

    fn apply(&self, kind: &'static Kind, document: &mut Value) -> Result<(), Status> {
        match self {
            Self::Json(operations) => {
                json_patch::patch(document, operations).map_err(|_| Status::patch_does_not_apply())
            }
            Self::Merge(patch) => {
                json_patch::merge(document, patch);
                Ok(())
            }
            Self::Strategic(patch) => {
                strategic::apply(Type::of(kind), document, patch).map_err(|misuse| match misuse {
                    Misuse::Form(text) => Status::bad_request(text),
                    Misuse::Fit(text) => Status::internal(text),
                })
            }
        }
    }
}

fn operations(patch: &Value) -> Result<Vec<PatchOperation>, Status> {
    let count = patch.as_array().map_or(0, Vec::len);
    if count > OPERATIONS_MAX {
        let text = format!("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}");
        return Err(Status::failure(413, "RequestEntityTooLarge", text));
    }
    serde_json::from_value(patch.clone())
        .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))
}
