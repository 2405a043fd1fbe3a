//! create: validates and stores a new object.
//!
//! The order of checks is kube-apiserver's: decoding, namespace, admission, preparation, validation, existence.

use super::body::{no_body, set_namespace};
use super::call::{Answer, Call, Payload, Target};
use super::convert::{to_requested_version, to_storage_version};
use super::custom;
use super::decode::{decode, nullify_empties};
use super::dynamic_admission::WriteAdmission;
use super::generate::generate_name;
use super::options::WriteOptions;
use super::write::{begin_write, strategy_context};
use super::{admission, escalation};
use crate::kinds::{Generation, Kind, StrategyContext, forbid_privileged};
use crate::machinery::error_list::ErrorList;
use crate::machinery::status::Status;
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::schema::{self, Empty, zero};
use crate::store::{ControllerWork, Txn};
use serde_json::Value;
use std::borrow::Cow;

pub(super) fn create(txn: &mut Txn<'_>, mut call: Call) -> Result<Answer, Status> {
    let kind = &call.target.kind;
    let Payload::Object(body) = std::mem::replace(&mut call.payload, Payload::None) else {
        return Err(no_body());
    };
    let options = WriteOptions::read(&call.params, "CreateOptions")?;
    txn.dry_run = options.dry_run;
    let decoded = decode(kind, body).map_err(|why| why.body_error(kind))?;
    txn.warnings
        .extend(options.validation.apply_to_body(kind, decoded.strict_errors)?);
    txn.empties = decoded.empties;
    let mut object = decoded.object;
    if call
        .target
        .name
        .as_deref()
        .is_some_and(|name| name != metadata::text(&object, "name"))
    {
        return Err(Status::bad_request(
            "the name in the object does not match the name on the request",
        ));
    }
    set_namespace(kind, call.target.namespace.as_deref(), &mut object)?;
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        metadata::set(&mut object, field, None);
    }
    call.field_manager().track(&txn.now, None, &mut object);
    insert(txn, &call.target, object)
}

/// The steps of a create after managedFields is set: admits, validates and stores the object.
pub(super) fn insert(txn: &mut Txn<'_>, target: &Target, mut object: Value) -> Result<Answer, Status> {
    let kind = &target.kind;
    let write = WriteAdmission::create(target);
    write.mutate(txn, &mut object, |txn, object| {
        admission::admit(txn, target, object)
    })?;
    // A mutating webhook may have changed or removed the namespace of the object.
    set_namespace(kind, target.namespace.as_deref(), &mut object)?;
    refuse_while_ending(kind, &object)?;
    prepare(txn, kind, &mut object)?;
    begin_write(txn, kind, &mut object, None)?;
    escalation::check(txn, target, None, &object)?;
    let submitted = restore_empties(&object, &std::mem::take(&mut txn.empties));
    let warnings = validate(kind, &submitted, &strategy_context(txn))?;
    txn.warnings.extend(warnings);
    txn.warnings.extend((kind.hooks.warn)(&object, &Value::Null));
    admission::validate(txn, target, &object, None)?;
    write.validate(txn, &object)?;
    nullify_empties(kind, &mut object);
    let object = to_storage_version(txn, kind, object)?;
    // A resourceVersion that is not a number counts as unset.
    let requested = metadata::text(&object, "resourceVersion").parse::<u64>();
    // In kube-apiserver, the storage layer rejects a resourceVersion in a create; a dry run does not reach that layer.
    if !txn.dry_run && requested.is_ok_and(|revision| revision > 0) {
        return Err(Status::internal(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    let key = kind.key(target.namespace.as_deref(), metadata::text(&object, "name"));
    if let Some(present) = txn.get(kind, &key) {
        return Err(already_exists_error(kind, &object, &present));
    }
    txn.warnings.extend(kind.caveat.map(str::to_owned));
    if kind.defined().is_some() {
        txn.warnings.extend(custom::warnings(&object, None));
    }
    let object = txn.put_limited(kind, &key, object)?;
    if kind.end.is_some() {
        txn.enqueue_work(ControllerWork::NamespaceCreated(key));
    }
    Ok(Answer::object(201, to_requested_version(kind, object)))
}

/// Rejects the creation of a custom resource while its CRD is being deleted.
fn refuse_while_ending(kind: &Kind, object: &Value) -> Result<(), Status> {
    if !kind.defined().is_some_and(|defined| defined.is_ending) {
        return Ok(());
    }
    let why = "create not allowed while custom resource definition is terminating";
    Err(Status::forbidden(
        kind.group_resource(),
        metadata::text(object, "name"),
        why,
    ))
}

fn prepare(txn: &mut Txn<'_>, kind: &Kind, object: &mut Value) -> Result<(), Status> {
    let validated = kind.validated_version();
    if validated.status && !validated.status_on_create {
        let of = validated.object_type();
        let empty = of
            .and_then(|of| of.field("status"))
            .map(|field| zero(&field.form));
        json::assign(object, "status", empty.unwrap_or_default());
    }
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        metadata::set(object, field, None);
    }
    metadata::set(object, "uid", Some(txn.new_uid().into()));
    metadata::set(object, "creationTimestamp", Some((*txn.now).into()));
    if kind.generation == Generation::FromCreation {
        metadata::set(object, "generation", Some(1.into()));
    }
    generate_name(txn, kind, object);
    (validated.hooks.create)(object, &strategy_context(txn));
    Ok(())
}

/// The object with its empty lists and maps restored, because some validation distinguishes an empty from an absent value.
fn restore_empties<'o>(object: &'o Value, empties: &[Empty]) -> Cow<'o, Value> {
    let mut object = Cow::Borrowed(object);
    if !empties.is_empty() {
        schema::restore_empties(object.to_mut(), empties);
    }
    object
}

/// Validates a new object. Returns warnings for the client, or the validation errors.
fn validate(kind: &Kind, object: &Value, setting: &StrategyContext<'_>) -> Result<Vec<String>, Status> {
    let mut errors = ErrorList::default();
    let warnings = match kind.defined() {
        Some(defined) => defined.strategy.validate(defined, object, &mut errors),
        None => {
            metadata::validate_generated(object, kind.name_rule, &mut errors);
            metadata::validate_name(object, kind.name_rule, &mut errors);
            (kind.hooks.validate_name)(object, &mut errors);
            metadata::validate_except_name(object, &mut errors);
            if kind.metadata_checks.know_finalizers {
                metadata::validate_core_finalizers(object, &mut errors);
            }
            Vec::new()
        }
    };
    (kind.hooks.validate)(object, &mut errors);
    forbid_privileged(kind, object, setting.options, &mut errors);
    (kind.hooks.validate_create)(object, &mut errors);
    if errors.is_empty() {
        return Ok(warnings);
    }
    let subject = kind.in_storage_version().group_kind();
    Err(Status::invalid(subject, metadata::text(object, "name"), errors))
}

fn already_exists_error(kind: &Kind, object: &Value, present: &Object) -> Status {
    let mut status = Status::already_exists(kind.group_resource(), metadata::text(object, "name"));
    if metadata::is_deleting(present.value()) {
        status.message.insert_str(0, "object is being deleted: ");
    }
    if !metadata::text(object, "generateName").is_empty() {
        status
            .message
            .push_str(", the server was not able to generate a unique name for the object");
        if let Some(details) = &mut status.details {
            details.retry_after_seconds = 1;
        }
    }
    status
}
