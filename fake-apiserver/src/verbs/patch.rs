//! patch: JSON patch, merge patch and strategic merge patch, applied to the latest object in the version of the
//! request. Server-side apply is in `apply`.

use super::apply::apply;
use super::body::{check_name, no_body, set_namespace};
use super::call::{Answer, Call, Patch, Payload};
use super::convert::{to_requested_version, to_validated_version};
use super::decode::decode;
use super::decoded::{Decoded, FieldValidation, strict_errors_for};
use super::options::WriteOptions;
use super::read::existing;
use super::write::replace;
use crate::kinds::Kind;
use crate::machinery::document::Document;
use crate::machinery::go;
use crate::machinery::status::Status;
use crate::object::Object;
use crate::patch::json_patch::{self, Operation};
use crate::patch::strategic::{self, StrategicPatchError};
use crate::schema::Type;
use crate::store::Txn;
use serde_json::Value;
use std::borrow::Cow;

const OPERATIONS_MAX: usize = 10_000;
const MANAGERS: &str = "/metadata/managedFields";

pub(super) fn patch(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let kind = &call.target.kind;
    let options = WriteOptions::of_patch(&call.params, matches!(call.payload, Payload::Apply(_)))?;
    txn.dry_run = options.dry_run;
    let (style, body) = match &call.payload {
        Payload::Patch(style, body) => (style, body),
        Payload::Apply(body) => return apply(txn, call, body, options.validation),
        Payload::None | Payload::Object(_) | Payload::Upgrade => return Err(no_body()),
    };
    let old = existing(txn, call)?;
    let (change, mut strict_errors) = ParsedPatch::read(*style, body, options.validation)?;
    let before = to_validated_version(txn, kind, &old)?;
    let mut document = document_to_patch(kind, &before, change.touches_managed_fields());
    change.apply(kind.object_type(), &mut document)?;
    let result = || change.text_in_errors(kind, &before);
    let decoded = decode(kind, document.into());
    let Decoded {
        mut object,
        strict_errors: more,
        empties,
    } = decoded.map_err(|why| why.patch_error(&result(), *style))?;
    strict_errors.extend(more);
    txn.empties = empties;
    txn.warnings
        .extend(options.validation.apply_to_patch(result, strict_errors)?);
    check_name(&call.target, &object)?;
    set_namespace(kind, call.target.namespace.as_deref(), &mut object)?;
    let object = replace(txn, &call.target, &old, object, Some(call.field_manager()))?;
    Ok(Answer::object(200, to_requested_version(kind, object)))
}

/// The object to which the patch applies, in the version of the request.
fn document_to_patch(kind: &Kind, object: &Object, with_managers: bool) -> Value {
    let object = if with_managers {
        object.document()
    } else {
        Cow::Borrowed(object.value())
    };
    match kind.view {
        Some(view) => (view.from_stored)(&object),
        None => object.into_owned(),
    }
}

pub(super) enum ParsedPatch<'a> {
    Json(Vec<Operation>),
    Merge(&'a Value),
    Strategic(&'a Value),
}

impl<'a> ParsedPatch<'a> {
    /// Parses a patch. Returns the patch and its strict-decoding errors.
    pub(super) fn read(
        style: Patch,
        body: &'a Result<Document, String>,
        validation: FieldValidation,
    ) -> Result<(Self, Vec<String>), Status> {
        let refuse = |why: &str| match style {
            Patch::Strategic => Status::bad_request(why),
            Patch::Json | Patch::Merge => Status::bad_request(format!("error decoding patch: {why}")),
        };
        let document = body.as_ref().map_err(|why| refuse(why))?;
        let mut strict_errors: Vec<String> = strict_errors_for(&document.duplicates, "duplicate").collect();
        let change = match (style, &document.value) {
            (Patch::Json, patch) => {
                let (operations, unknown) = json_patch::read(patch).map_err(|why| refuse(&why))?;
                check_operation_count(operations.len())?;
                strict_errors = strict_errors
                    .into_iter()
                    .chain(strict_errors_for(&unknown, "unknown"))
                    .collect();
                strict_errors
                    .iter_mut()
                    .for_each(|flaw| flaw.insert_str(0, "json patch "));
                Self::Json(operations)
            }
            (Patch::Merge, patch @ Value::Object(_)) => Self::Merge(patch),
            // For `null`, and with `fieldValidation=Ignore` for any patch that is not an object, kube-apiserver reports only this error.
            (Patch::Merge, patch) if patch.is_null() || validation == FieldValidation::Ignore => {
                return Err(Status::bad_request("Invalid JSON Patch"));
            }
            (Patch::Strategic, patch @ (Value::Object(_) | Value::Null)) => Self::Strategic(patch),
            (Patch::Merge | Patch::Strategic, _) => {
                let into = "value of type map[string]interface {}";
                return Err(refuse(&go::cannot_unmarshal(document.json_type(), into)));
            }
        };
        Ok((change, strict_errors))
    }

    /// Whether the patch can read or change `metadata.managedFields`. If not, the patched document omits managedFields.
    fn touches_managed_fields(&self) -> bool {
        match self {
            Self::Merge(patch) | Self::Strategic(patch) => patch["metadata"].get("managedFields").is_some(),
            Self::Json(operations) => operations
                .iter()
                .any(|operation| operation.overlaps_path(MANAGERS)),
        }
    }

    /// Applies the patch to a document of type `of`. For custom resources, `of` is `None`: strategic merge patches are not supported.
    pub(super) fn apply(&self, of: Option<&'static Type>, document: &mut Value) -> Result<(), Status> {
        match self {
            Self::Json(operations) => {
                json_patch::apply(document, operations).map_err(|_| Status::patch_does_not_apply())
            }
            Self::Merge(patch) => {
                json_patch::merge(document, patch);
                Ok(())
            }
            Self::Strategic(Value::Null) => Ok(()),
            Self::Strategic(patch) => {
                let of = of.ok_or_else(|| Status::unsupported_patch("415: Unsupported Media Type"))?;
                let identity = ["apiVersion", "kind"].map(|name| (name, document[name].clone()));
                strategic::apply(of, document, patch).map_err(|misuse| match misuse {
                    StrategicPatchError::Form(text) => Status::bad_request(text),
                    StrategicPatchError::Fit(text) => Status::internal(text),
                })?;
                // kube-apiserver ignores changes of apiVersion and kind by a strategic merge patch.
                for (name, value) in identity {
                    document[name] = value;
                }
                Ok(())
            }
        }
    }
}

impl ParsedPatch<'_> {
    /// The text that error messages contain: the whole patched object, or for a strategic merge patch the patch itself.
    fn text_in_errors(&self, kind: &Kind, before: &Object) -> String {
        if let Self::Strategic(patch) = self {
            return go::format_map(patch);
        }
        let mut document = document_to_patch(kind, before, true);
        // Cannot fail: the patch was applied to this object before.
        drop(self.apply(kind.object_type(), &mut document));
        document.to_string()
    }
}

fn check_operation_count(count: usize) -> Result<(), Status> {
    if count <= OPERATIONS_MAX {
        return Ok(());
    }
    let text = format!("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}");
    Err(Status::failure(413, "RequestEntityTooLarge", text))
}
