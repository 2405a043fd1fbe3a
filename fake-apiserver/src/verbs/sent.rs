//! What is sent to a subresource to be carried out, and not to be stored: bindings, evictions, requests for tokens, scales.
//!
//! Owns what they have in common: the options of the request, the form of the body, and what it must agree on with the
//! request, in the order of the real server.

use super::admission;
use super::body::{no_body, place};
use super::call::{Call, Payload};
use super::consult::Write;
use super::decode::decode;
use super::decoded::FieldValidation;
use super::options::WriteOptions;
use crate::kinds::Kind;
use crate::machinery::document::Document;
use crate::machinery::status::Status;
use crate::store::Txn;
use serde_json::Value;

/// Reads the body of a request that creates something of the kind `of`; one in the version `older` looks the same.
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
    let mut object = decoded(txn, of, options.validation, body)?;
    place(&call.target.kind, call.target.namespace.as_deref(), &mut object)?;
    Ok(object)
}

/// Brings a document into the form of a kind.
pub(super) fn decoded(
    txn: &mut Txn<'_>,
    of: &Kind,
    validation: FieldValidation,
    document: Document,
) -> Result<Value, Status> {
    let decoded = decode(of, document).map_err(|why| why.of_body(of))?;
    txn.warnings.extend(validation.of_body(of, decoded.flaws)?);
    Ok(decoded.object)
}

/// Has admission complete what was sent. It is still of the kind `of` when a webhook has changed it.
pub(super) fn admit(txn: &mut Txn<'_>, call: &Call, of: &Kind, sent: Value) -> Result<Value, Status> {
    let (kind, mut object) = (&call.target.kind, sent);
    let is_changed = Write::create(&call.target).mutate(txn, &mut object, |txn, object| {
        admission::in_namespace(txn, kind, object)
    })?;
    if !is_changed {
        return Ok(object);
    }
    let decoded = decode(of, object.into()).map_err(|why| why.of_body(of))?;
    Ok(decoded.object)
}
