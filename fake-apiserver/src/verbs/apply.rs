//! Server-side apply: a patch that contains all fields which the field manager wants to own. Creates the object if it does not exist.
//!
//! Owns the order of checks. `managed` merges objects and tracks field ownership.

use super::body::{check_name, set_namespace};
use super::call::{Answer, Call};
use super::convert::{to_requested_version, to_validated_version};
use super::create::insert;
use super::decode::decode_applied;
use super::decoded::{DecodeError, FieldValidation};
use super::escalation::require_create_permission;
use super::read::existing;
use super::write::replace;
use crate::kinds::Part;
use crate::machinery::document::Document;
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::patch::managed;
use crate::store::Txn;
use serde_json::Value;

pub(super) fn apply(
    txn: &mut Txn<'_>,
    call: &Call,
    body: &Result<Document, String>,
    validation: FieldValidation,
) -> Result<Answer, Status> {
    let kind = &call.target.kind;
    let live = match existing(txn, call) {
        Err(_) if call.target.part == Part::Main => None,
        found => Some(found?),
    };
    let document = body.as_ref();
    let document = document.map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
    let writer = call.field_manager();
    let force = call.params.flag("force").unwrap_or_default();
    let before = live
        .as_ref()
        .map(|live| to_validated_version(txn, kind, live))
        .transpose()?;
    let (object, owners) = writer.apply(&txn.now, before.as_deref(), &document.value, force)?;
    let decoded = decode_applied(&kind.validated_version(), object.into()).map_err(|why| match why {
        DecodeError::Version(status) => status,
        why => Status::internal(format!(
            "failed to convert new object ({}) to proper version: unable to convert unstructured object to {}: {}",
            writer.configuration_title(&document.value),
            writer.version_and_kind(),
            why.text()
        )),
    })?;
    txn.warnings
        .extend_from_slice(check_duplicates(validation, &document.duplicates)?);
    txn.empties = decoded.empties;
    let mut object = decoded.object;
    managed::set_managed_fields(&mut object, owners);
    if live.is_none() {
        refuse_uid(call, &object)?;
    }
    set_namespace(kind, call.target.namespace.as_deref(), &mut object)?;
    check_name(&call.target, &object)?;
    let Some(live) = live else {
        require_create_permission(txn, &call.target)?;
        metadata::set(&mut object, "resourceVersion", None);
        return insert(txn, &call.target, object);
    };
    let object = replace(txn, &call.target, &live, object, None)?;
    Ok(Answer::object(200, to_requested_version(kind, object)))
}

/// Rejects an applied configuration that contains a uid if the object does not exist.
fn refuse_uid(call: &Call, object: &Value) -> Result<(), Status> {
    let uid = metadata::text(object, "uid");
    if uid.is_empty() {
        return Ok(());
    }
    let why =
        format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
    Err(Status::conflict(
        call.target.kind.group_resource(),
        call.target.name(),
        &why,
    ))
}

/// Returns duplicate fields as warnings or an error. Any other strict-decoding error makes an apply fail with any `fieldValidation`.
fn check_duplicates(validation: FieldValidation, duplicates: &[String]) -> Result<&[String], Status> {
    match validation {
        FieldValidation::Ignore => Ok(&[]),
        FieldValidation::Strict if !duplicates.is_empty() => Err(Status::bad_request(format!(
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {}",
            duplicates.join("\n  ")
        ))),
        FieldValidation::Strict | FieldValidation::Warn => Ok(duplicates),
    }
}
