//! Subresource bodies that are not stored as objects: bindings, evictions, token requests, scales.
//!
//! Owns the common steps in the order of kube-apiserver: parsing of request options, decoding, and consistency checks with the URL.

use super::admission;
use super::body::{no_body, set_namespace};
use super::call::{Call, Payload};
use super::decode::decode;
use super::decoded::FieldValidation;
use super::dynamic_admission::WriteAdmission;
use super::options::WriteOptions;
use crate::kinds::Kind;
use crate::machinery::document::Document;
use crate::machinery::status::Status;
use crate::store::Txn;
use serde_json::Value;

/// Decodes the body of a create as the kind `of`. Also accepts the apiVersion `older` of this kind, which has equal fields.
pub(super) fn read(txn: &mut Txn<'_>, call: &Call, of: &Kind, older: Option<&str>) -> Result<Value, Status> {
    let Payload::Object(body) = &call.payload else {
        return Err(no_body());
    };
    let mut body = body.clone();
    if older.is_some_and(|older| body.value["apiVersion"] == older) {
        body.value["apiVersion"] = of.api_version().into();
    }
    let options = WriteOptions::read(&call.params, "CreateOptions")?;
    txn.dry_run = options.dry_run;
    let mut object = decode_as(txn, of, options.validation, body)?;
    set_namespace(&call.target.kind, call.target.namespace.as_deref(), &mut object)?;
    Ok(object)
}

pub(super) fn decode_as(
    txn: &mut Txn<'_>,
    of: &Kind,
    validation: FieldValidation,
    document: Document,
) -> Result<Value, Status> {
    let decoded = decode(of, document).map_err(|why| why.body_error(of))?;
    txn.warnings
        .extend(validation.apply_to_body(of, decoded.strict_errors)?);
    Ok(decoded.object)
}

/// Runs mutating admission on the body and decodes it again if a webhook changed it.
pub(super) fn admit(txn: &mut Txn<'_>, call: &Call, of: &Kind, sent: Value) -> Result<Value, Status> {
    let (kind, mut object) = (&call.target.kind, sent);
    let is_changed = WriteAdmission::create(&call.target).mutate(txn, &mut object, |txn, object| {
        admission::check_namespace(txn, kind, object)
    })?;
    if !is_changed {
        return Ok(object);
    }
    let decoded = decode(of, object.into()).map_err(|why| why.body_error(of))?;
    Ok(decoded.object)
}
