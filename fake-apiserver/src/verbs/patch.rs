//! patch: JSON patch, merge patch and strategic merge patch, applied to the newest object in the form of the
//! requested resource. Server-side apply is in `apply`.

use super::apply::apply;
use super::create::place;
use super::operations;
use super::options::WriteOptions;
use super::update::{check_name, replace};
use super::{existing, shown};
use crate::call::{Answer, Call, Patch, Payload};
use crate::decode::{Decoded, decode, said};
use crate::kinds::Kind;
use crate::schema::Type;
use crate::status::Status;
use crate::store::{Object, Txn};
use crate::strategic::{self, Misuse};
use json_patch::PatchOperation;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Display;

pub(super) fn patch(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let kind = call.target.kind;
    let options = WriteOptions::of_patch(&call.params, matches!(call.payload, Payload::Apply(_)))?;
    txn.dry_run = options.dry_run;
    let (style, body) = match &call.payload {
        Payload::Patch(style, body) => (style, body),
        Payload::Apply(body) => return apply(txn, call, body, options.validation),
        Payload::None | Payload::Object(_) => {
            return Err(Status::bad_request(
                "the request has no body; send a patch as JSON",
            ));
        }
    };
    let change = Change::read(*style, &body.value)?;
    let old = existing(txn, call)?;
    let mut document = present(kind, &old, change.speaks_of_managers());
    change.apply(kind, &mut document)?;
    let subject = match change {
        Change::Strategic(patch) => strategic::go_map(patch),
        Change::Json(_) | Change::Merge(_) => document.to_string(),
    };
    let Decoded { mut object, flaws } =
        decode(kind, document.into()).map_err(|why| why.of_patch(&subject))?;
    let flaws = said(&body.duplicates, "duplicate").chain(flaws).collect();
    txn.warnings.extend(options.validation.of_patch(&subject, flaws)?);
    check_name(&call.target, &object)?;
    place(kind, call.target.namespace.as_deref(), &mut object)?;
    let object = replace(txn, &call.target, &old, object, Some(call.writer()))?;
    Ok(Answer::Object {
        code: 200,
        object: shown(kind, object),
    })
}

/// The object as its readers know it, which is what a patch speaks about.
fn present(kind: &Kind, object: &Object, with_managers: bool) -> Value {
    let object = if with_managers {
        object.document()
    } else {
        Cow::Borrowed(&*object.value)
    };
    match kind.view {
        Some(view) => (view.from_stored)(&object),
        None => object.into_owned(),
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
            Patch::Json => operations::read(patch).map(Self::Json),
        }
    }

    /// Whether the patch can see or change `metadata.managedFields`. What does not name them leaves them alone.
    fn speaks_of_managers(&self) -> bool {
        match self {
            Self::Merge(patch) | Self::Strategic(patch) => patch["metadata"].get("managedFields").is_some(),
            Self::Json(operations) => operations.iter().any(|operation| match operation {
                PatchOperation::Add(_) | PatchOperation::Remove(_) | PatchOperation::Replace(_) => {
                    names_managers(operation.path())
                }
                PatchOperation::Move(change) => {
                    names_managers(operation.path()) || names_managers(&change.from)
                }
                PatchOperation::Copy(_) | PatchOperation::Test(_) => true,
            }),
        }
    }

    fn apply(&self, kind: &'static Kind, document: &mut Value) -> Result<(), Status> {
        match self {
            Self::Json(operations) => operations::apply(operations, document),
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

fn names_managers(path: impl Display) -> bool {
    path.to_string().starts_with("/metadata/managedFields")
}
