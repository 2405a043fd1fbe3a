//! namespaces/NAME/finalize: sets `spec.finalizers`. A terminating namespace exists until this list is empty.

use super::body::{check_name, no_body};
use super::call::{Answer, Call, Payload};
use super::convert::to_requested_version;
use super::decode::decode;
use super::dynamic_admission::WriteAdmission;
use super::options::dry_run;
use super::read::existing;
use super::write::{restore_system_fields, store};
use crate::kinds::NAMESPACE;
use crate::machinery::error_list::ErrorList;
use crate::machinery::status::Status;
use crate::machinery::{json, metadata, names};
use crate::store::Txn;

pub(super) fn finalize(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    txn.dry_run = dry_run(&call.params.all("dryRun"), "UpdateOptions")?;
    let old = existing(txn, call)?;
    let Payload::Object(body) = &call.payload else {
        return Err(no_body());
    };
    let decoded = decode(&NAMESPACE, body.clone()).map_err(|why| why.body_error(&NAMESPACE))?;
    let mut object = decoded.object;
    check_name(&call.target, &object)?;
    let write = WriteAdmission::update(&call.target, &old);
    write.mutate(txn, &mut object, |_, _| Ok(()))?;
    let mut errors = ErrorList::default();
    for (i, finalizer) in json::texts(&object["spec"]["finalizers"]).into_iter().enumerate() {
        let field = format!("spec.finalizers[{i}]");
        errors.invalid_all(&field, finalizer, names::qualified_name(finalizer));
        metadata::validate_core_finalizer(finalizer, &["kubernetes"], field, &mut errors);
    }
    Status::refuse_invalid(NAMESPACE.group_kind(), call.target.name(), errors)?;
    json::assign(&mut object, "status", old.value()["status"].clone());
    call.field_manager().track(&txn.now, Some(&old), &mut object);
    restore_system_fields(&mut object, old.value());
    write.validate(txn, &object)?;
    let object = store(txn, &call.target, &old, object)?;
    Ok(Answer::object(200, to_requested_version(&NAMESPACE, object)))
}
