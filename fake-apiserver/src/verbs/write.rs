//! The only code that writes changed objects: the last step of PUT, PATCH, apply and the controllers' updates.
//!
//! Owns immutable fields, the order of checks and the detection of no-op updates. New objects are in `create`,
//! deletions in `remove`.

use super::body::set_namespace;
use super::call::Target;
use super::convert::{to_storage_version, to_validated_version};
use super::custom;
use super::decode::nullify_empties;
use super::dynamic_admission::WriteAdmission;
use super::remove::can_be_removed;
use super::{admission, escalation};
use crate::kinds::{
    Generation, Kind, MetadataPasses, Part, Requester, StatusMetadata, StrategyContext, forbid_privileged,
};
use crate::machinery::error_list::ErrorList;
use crate::machinery::status::Status;
use crate::machinery::{go, json, metadata};
use crate::object::Object;
use crate::patch::managed::{self, FieldManager};
use crate::schema::{self, Empty};
use crate::store::{ControllerWork, Txn};
use serde_json::Value;
use std::sync::Arc;

/// System fields of `metadata`, and how a value sent by a client is handled.
const SYSTEM: [(&str, SystemField); 6] = [
    ("creationTimestamp", SystemField::Ignored),
    ("deletionTimestamp", SystemField::IgnoredWhereSet),
    ("deletionGracePeriodSeconds", SystemField::Refused),
    ("generation", SystemField::Ignored),
    ("resourceVersion", SystemField::Ignored),
    ("uid", SystemField::Refused),
];

/// How the server handles a client's value of a system field of `metadata`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SystemField {
    /// A sent value is ignored; the stored value is retained.
    Ignored,
    /// A sent value is ignored if a value is stored. If none is stored, validation rejects the sent value.
    IgnoredWhereSet,
    /// Validation rejects a sent value that differs from the stored value.
    Refused,
}

/// The uid as a precondition: the name of the field, and its name in storage error messages.
pub(super) const UID: (&str, &str) = ("uid", "UID");

/// Rejects a write if the sent metadata has a value of `field` that differs from the stored object. The error message calls the field
/// `what`.
pub(super) fn check_precondition(
    target: &Target,
    (field, what): (&str, &str),
    (sent, found): (&Value, &str),
    dry_run: bool,
) -> Result<(), Status> {
    let wanted = metadata::text(sent, field);
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let kind = &target.kind;
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}",
        kind.registry_key(&target.key(), dry_run)
    );
    Err(Status::conflict(kind.group_resource(), target.name(), &why))
}

/// Replaces `old` by `new`: the last step of PUT and PATCH. `manager` is the field manager; `None` if managedFields is already updated.
pub(super) fn replace(
    txn: &mut Txn<'_>,
    target: &Target,
    old: &Arc<Object>,
    mut new: Value,
    manager: Option<FieldManager<'_>>,
) -> Result<Arc<Object>, Status> {
    let kind = &target.kind;
    let before = to_validated_version(txn, kind, old)?;
    if let Some(manager) = manager {
        manager.track(&txn.now, Some(&before), &mut new);
    }
    WriteAdmission::update(target, &before).mutate(txn, &mut new, |_, _| Ok(()))?;
    // A mutating webhook may have changed or removed the namespace of the object.
    set_namespace(kind, target.namespace.as_deref(), &mut new)?;
    replace_admitted(txn, target, old, new, true)
}

/// The part of `replace` after mutating admission. Runs validating admission only if `last` is true; otherwise the caller must have run it.
pub(super) fn replace_admitted(
    txn: &mut Txn<'_>,
    target: &Target,
    old: &Arc<Object>,
    mut new: Value,
    last: bool,
) -> Result<Arc<Object>, Status> {
    let kind = &target.kind;
    let sent = requested_revision(&new)?;
    if sent.is_empty() && !kind.unconditional_update {
        let mut errors = ErrorList::default();
        errors.invalid("metadata.resourceVersion", 0, "must be specified for an update");
        return Err(Status::invalid(kind.group_resource(), target.name(), errors));
    }
    if !sent.is_empty() && sent != metadata::text(old.value(), "resourceVersion") {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        return Err(Status::conflict(kind.group_resource(), target.name(), why));
    }
    nullify_empties(kind, &mut new);
    let validated = to_validated_version(txn, kind, old)?;
    let before = validated.value();
    restore_system_fields(&mut new, before);
    restore_unwritable_fields(kind, target.part, &mut new, before);
    if target.part == Part::Main {
        begin_write(txn, kind, &mut new, Some(before))?;
    }
    (kind.in_storage_version().hooks.update)(&mut new, before, &strategy_context(txn));
    update_generation(target, &mut new, before);
    escalation::check(txn, target, Some(before), &new)?;
    let empties = std::mem::take(&mut txn.empties);
    let warnings = validate_with_sent_empties(target, &new, before, &strategy_context(txn), &empties)?;
    txn.warnings.extend(warnings);
    txn.warnings.extend((kind.hooks.warn)(&new, before));
    admission::validate(txn, target, &new, Some(before))?;
    if kind.defined().is_some() && target.part != Part::Status {
        txn.warnings.extend(custom::warnings(&new, Some(before)));
    }
    if last {
        WriteAdmission::update(target, &validated).validate(txn, &new)?;
    }
    let new = to_storage_version(txn, kind, new)?;
    store(txn, target, old, new)
}

/// Lets the controllers that watch the resource complete the object before it is validated.
pub(super) fn begin_write(
    txn: &mut Txn<'_>,
    kind: &Kind,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let controllers = txn.controllers();
    let mut watching = controllers.iter().filter(|controller| controller.watches(kind));
    watching.try_for_each(|controller| controller.begin_write(txn, kind, object, old))
}

/// Writes a validated object. Writes nothing if the object is unchanged, and deletes the object if its last finalizer was removed.
pub(crate) fn store(
    txn: &mut Txn<'_>,
    target: &Target,
    old: &Arc<Object>,
    mut new: Value,
) -> Result<Arc<Object>, Status> {
    let kind = &target.kind;
    let key = target.key();
    if can_be_removed(kind, &new) {
        // The response contains the object without finalizers, at its old revision.
        txn.remove(kind, &key);
        txn.enqueue_work(ControllerWork::deleted(&new));
        return Ok(Object::new(new, old.revision));
    }
    let managed = metadata::take(&mut new, "managedFields");
    if new == *old.value() {
        let managed = managed.as_ref().and_then(Value::as_str);
        // If only timestamps in managedFields changed, the update is a no-op.
        let same = |now: &str| {
            now == old.managed_fields() || managed::differ_only_in_times(kind, now, old.managed_fields())
        };
        if managed.is_none_or(same) {
            return Ok(old.clone());
        }
    }
    metadata::set(&mut new, "managedFields", managed);
    txn.put_limited(kind, &key, new)
}

/// The resourceVersion that the client requires as a precondition. Empty if unset or 0.
fn requested_revision(object: &Value) -> Result<&str, Status> {
    let sent = metadata::text(object, "resourceVersion");
    match sent.parse::<u64>() {
        Ok(0) => Ok(""),
        Err(error) if !sent.is_empty() => {
            Err(Status::internal(go::parse_int_error("ParseUint", sent, &error)))
        }
        _ => Ok(sent),
    }
}

/// Restores system fields of `new` from the stored object, as `SYSTEM` requires.
pub(super) fn restore_system_fields(new: &mut Value, old: &Value) {
    for (field, sent) in SYSTEM {
        let before = old["metadata"].get(field).cloned();
        let is_restored = match sent {
            SystemField::Ignored => true,
            SystemField::IgnoredWhereSet => before.is_some(),
            SystemField::Refused => {
                let sent = &new["metadata"][field];
                sent.is_null() || *sent == ""
            }
        };
        if is_restored {
            metadata::set(new, field, before);
        }
    }
}

/// Fields of `metadata` that a write to `/status` does not change, for kinds with `StatusMetadata::Described`.
const DESCRIPTION: [&str; 6] = [
    "annotations",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "labels",
    "ownerReferences",
];

/// Restores the fields that a request must not change: a write to the main resource does not change the status, a write to `/status`
/// changes only status and metadata.
fn restore_unwritable_fields(kind: &Kind, part: Part, new: &mut Value, old: &Value) {
    match kind.status_metadata {
        StatusMetadata::Unchanged if part == Part::Status => return take_only_status(new, old),
        StatusMetadata::Described if part == Part::Status => {
            for field in DESCRIPTION {
                metadata::set(new, field, old["metadata"].get(field).cloned());
            }
        }
        _ => {}
    }
    match part {
        Part::Main => restore_unwritable_members(kind, part, new, old),
        Part::Status => {
            restore_unwritable_members(kind, part, new, old);
            (kind.hooks.separate_status)(new, old);
        }
        Part::Sub(sub) => match kind.hooks.part(sub) {
            Some(part) => (part.separate)(new, old),
            None => restore_unwritable_members(kind, part, new, old),
        },
    }
}

fn restore_unwritable_members(kind: &Kind, part: Part, new: &mut Value, old: &Value) {
    let (Some(new), Some(old), true) = (new.as_object_mut(), old.as_object(), kind.status) else {
        return;
    };
    if part != Part::Main {
        let from_old = |name: &str| name != "status" && name != "metadata";
        new.retain(|name, _| !from_old(name));
        new.extend(
            old.iter()
                .filter(|(name, _)| from_old(name))
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    } else {
        match old.get("status") {
            Some(status) => drop(new.insert("status".to_owned(), status.clone())),
            None => drop(new.remove("status")),
        }
    }
}

/// Takes only status and managedFields from `new`; all other fields of `new` are reset to `old`.
fn take_only_status(new: &mut Value, old: &Value) {
    let managed = metadata::take(new, "managedFields");
    let status = std::mem::replace(new, old.clone())
        .get_mut("status")
        .map(Value::take);
    json::assign(new, "status", status.unwrap_or_default());
    metadata::set(new, "managedFields", managed);
}

fn update_generation(target: &Target, new: &mut Value, old: &Value) {
    let kind = &target.kind;
    let is_same = match kind.defined() {
        Some(_) => target.part == Part::Status || is_equal_except_metadata(new, old),
        None => {
            let mut wanted = kind.generation_of.iter();
            target.part == Part::Status || wanted.all(|pointer| new.pointer(pointer) == old.pointer(pointer))
        }
    };
    if kind.generation == Generation::None || is_same {
        return;
    }
    let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
    metadata::set(new, "generation", Some(generation.into()));
}

fn is_equal_except_metadata(new: &Value, old: &Value) -> bool {
    let count = |object: &Value| object.as_object().map_or(0, serde_json::Map::len);
    let members = new.as_object().into_iter().flatten();
    let mut rest = members.filter(|(name, _)| *name != "metadata");
    count(new) == count(old) && rest.all(|(name, value)| old.get(name) == Some(value))
}

/// Validates a changed object and returns warnings. Error messages contain empty lists and maps as the client sent them.
fn validate_with_sent_empties(
    target: &Target,
    new: &Value,
    old: &Value,
    setting: &StrategyContext<'_>,
    empties: &[Empty],
) -> Result<Vec<String>, Status> {
    let outcome = validate(target, new, old, setting);
    let mut errors = match outcome {
        Ok(warnings) => return Ok(warnings),
        Err(errors) => errors,
    };
    if target.part == Part::Main && !empties.is_empty() {
        let mut sent = new.clone();
        schema::restore_empties(&mut sent, empties);
        if let Err(reworded) = validate(target, &sent, old, setting) {
            errors.replace_messages(reworded);
        }
    }
    Err(Status::invalid(
        target.kind.in_storage_version().group_kind(),
        target.name(),
        errors,
    ))
}

/// Validates a changed object. Returns warnings for the client, or the validation errors.
fn validate(
    target: &Target,
    new: &Value,
    old: &Value,
    setting: &StrategyContext<'_>,
) -> Result<Vec<String>, ErrorList> {
    let kind = &target.kind;
    let mut errors = ErrorList::default();
    metadata::validate_common(new, |_| Vec::new(), &mut errors);
    metadata::validate_update(new, old, &mut errors);
    // The strategies of kube-apiserver validate the metadata again `times` times, which repeats its errors: the first time before all other
    // checks, the last time against the old object if `compare` is set.
    let checks = kind.metadata_checks;
    let MetadataPasses { times, compare } = match target.part {
        Part::Main => checks.main,
        Part::Status | Part::Sub(_) => checks.status,
    };
    let check = |time: u8, errors: &mut ErrorList| {
        if compare && time == times {
            metadata::validate_update(new, old, errors);
        } else {
            metadata::validate_labels_annotations_owners(new, errors);
        }
        if checks.know_finalizers {
            metadata::validate_core_finalizers(new, errors);
        }
    };
    let mut warnings = Vec::new();
    if times > 0 {
        check(1, &mut errors);
    }
    if let Some(defined) = kind.defined() {
        warnings = defined
            .strategy
            .validate_update(defined, target.part, (new, old), &mut errors);
    }
    if target.part == Part::Main {
        (kind.hooks.validate)(new, &mut errors);
        forbid_privileged(kind, new, setting.options, &mut errors);
        for time in 2..=times {
            check(time, &mut errors);
        }
        (kind.hooks.validate_update)(new, old, &mut errors);
        (kind.hooks.validate_update_then)(new, old, setting.profile, &mut errors);
    } else if let Part::Sub(sub) = target.part {
        if let Some(part) = kind.hooks.part(sub) {
            (part.validate)(new, old, &mut errors);
        }
    } else {
        (kind.hooks.validate_status)(new, old, &mut errors);
    }
    if errors.is_empty() {
        Ok(warnings)
    } else {
        Err(errors)
    }
}

pub(super) fn strategy_context<'a>(txn: &'a Txn<'_>) -> StrategyContext<'a> {
    StrategyContext {
        now: &txn.now,
        options: txn.options(),
        profile: txn.profile(),
        requester: txn.user.as_ref().map(|user| Requester {
            name: &user.name,
            uid: &user.uid,
            groups: &user.groups,
            extra: &user.extra,
        }),
    }
}
