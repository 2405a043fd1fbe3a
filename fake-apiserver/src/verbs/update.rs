//! update: replaces an object (PUT).

use super::body::{check_name, no_body, set_namespace};
use super::call::{Answer, Call, Payload};
use super::convert::to_requested_version;
use super::create::create;
use super::decode::decode;
use super::escalation::require_create_permission;
use super::options::WriteOptions;
use super::read::existing;
use super::write::{UID, check_precondition, replace};
use crate::kinds::Part;
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::store::Txn;

pub(super) fn update(txn: &mut Txn<'_>, call: Call) -> Result<Answer, Status> {
    let kind = &call.target.kind;
    let Payload::Object(body) = &call.payload else {
        return Err(no_body());
    };
    let options = WriteOptions::read(&call.params, "UpdateOptions")?;
    txn.dry_run = options.dry_run;
    let decoded = decode(kind, body.clone()).map_err(|why| why.body_error(kind))?;
    txn.warnings
        .extend(options.validation.apply_to_body(kind, decoded.strict_errors)?);
    txn.empties = decoded.empties;
    let mut object = decoded.object;
    check_name(&call.target, &object)?;
    set_namespace(kind, call.target.namespace.as_deref(), &mut object)?;
    let old = match existing(txn, &call) {
        Err(_) if kind.create_on_update && call.target.part == Part::Main => {
            return create_instead(txn, call);
        }
        found => found?,
    };
    check_precondition(
        &call.target,
        UID,
        (&object, metadata::text(old.value(), "uid")),
        txn.dry_run,
    )?;
    let object = replace(txn, &call.target, &old, object, Some(call.field_manager()))?;
    Ok(Answer::object(200, to_requested_version(kind, object)))
}

/// PUT of an object that does not exist creates it, for kinds that allow this (`AllowCreateOnUpdate`).
fn create_instead(txn: &mut Txn<'_>, mut call: Call) -> Result<Answer, Status> {
    if let Payload::Object(body) = &mut call.payload {
        check_precondition(&call.target, UID, (&body.value, ""), txn.dry_run)?;
        metadata::set(&mut body.value, "resourceVersion", None);
    }
    require_create_permission(txn, &call.target)?;
    // `create` decodes the body again and adds the same warnings.
    txn.warnings.clear();
    create(txn, call)
}
