//! The one way in which a changed object is written: the common end of PUT, PATCH, apply and of what controllers change.
//!
//! Owns what a writer cannot change, the order of the checks and what counts as no change. New objects are in `create`,
//! and those that go in `remove`.

use super::body::place;
use super::call::Target;
use super::consult::Write;
use super::convert::{judged, stored};
use super::custom;
use super::decode::forget_empties;
use super::remove::is_finished;
use super::{addresses, admission, escalation};
use crate::kinds::{Generation, Kind, Looks, Part, Requester, Setting, StatusMetadata, forbid_privileged};
use crate::machinery::faults::Faults;
use crate::machinery::status::Status;
use crate::machinery::{go, json, metadata};
use crate::object::Object;
use crate::patch::managed::{self, FieldManager};
use crate::schema::{self, Empty};
use crate::store::{FollowUp, Txn};
use serde_json::Value;
use std::sync::Arc;

/// Members of `metadata` that only the server sets, with what it does with other values that a client sends.
const SYSTEM: [(&str, Sent); 6] = [
    ("creationTimestamp", Sent::Ignored),
    ("deletionTimestamp", Sent::IgnoredWhereSet),
    ("deletionGracePeriodSeconds", Sent::Refused),
    ("generation", Sent::Ignored),
    ("resourceVersion", Sent::Ignored),
    ("uid", Sent::Refused),
];

/// What the server does with a value that a client sends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// The old one stays.
    Ignored,
    /// The old one stays where there is one; otherwise validation refuses the new one.
    IgnoredWhereSet,
    /// Validation refuses another one than the old one.
    Refused,
}

/// The uid of an object, and how the store calls it.
pub(super) const UID: (&str, &str) = ("uid", "UID");

/// Refuses a write of an object in which `field` of its metadata is not what the request says; `what` is the name of the
/// field in the text of the store.
pub(super) fn precondition(
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
    Err(Status::conflict(kind.resource(), target.name(), &why))
}

/// Puts `new` in the place of `old`: the common end of PUT and PATCH. `by` is who changes it, unless that is recorded
/// already.
pub(super) fn replace(
    txn: &mut Txn<'_>,
    target: &Target,
    old: &Arc<Object>,
    mut new: Value,
    by: Option<FieldManager<'_>>,
) -> Result<Arc<Object>, Status> {
    let kind = &target.kind;
    let before = judged(txn, kind, old)?;
    if let Some(by) = by {
        by.track(&txn.now, Some(&before), &mut new);
    }
    Write::update(target, &before).mutate(txn, &mut new, |_, _| Ok(()))?;
    // A webhook may have moved it.
    place(kind, target.namespace.as_deref(), &mut new)?;
    replace_reviewed(txn, target, old, new, true)
}

/// The same for what webhooks have seen already, those that only look excepted: they are asked `last`, or were before.
pub(super) fn replace_reviewed(
    txn: &mut Txn<'_>,
    target: &Target,
    old: &Arc<Object>,
    mut new: Value,
    last: bool,
) -> Result<Arc<Object>, Status> {
    let kind = &target.kind;
    let sent = asked_revision(&new)?;
    if sent.is_empty() && !kind.unconditional_update {
        let mut faults = Faults::default();
        faults.invalid("metadata.resourceVersion", 0, "must be specified for an update");
        return Err(Status::invalid(kind.resource(), target.name(), faults));
    }
    if !sent.is_empty() && sent != metadata::text(old.value(), "resourceVersion") {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        return Err(Status::conflict(kind.resource(), target.name(), why));
    }
    forget_empties(kind, &mut new);
    let judged = judged(txn, kind, old)?;
    let before = judged.value();
    carry_over(&mut new, before);
    separate(kind, target.part, &mut new, before);
    if target.part == Part::Main {
        addresses::assign(txn, target, &mut new, Some(before))?;
    }
    (kind.stored().hooks.update)(&mut new, before, &setting(txn));
    count_generation(target, &mut new, before);
    escalation::check(txn, target, Some(before), &new)?;
    let empties = std::mem::take(&mut txn.empties);
    let warnings = judge(target, &new, before, &setting(txn), &empties)?;
    txn.warnings.extend(warnings);
    txn.warnings.extend((kind.hooks.warn)(&new, before));
    admission::confirm(txn, target, &new, Some(before))?;
    if kind.defined().is_some() && target.part != Part::Status {
        txn.warnings.extend(custom::warnings(&new, Some(before)));
    }
    if last {
        Write::update(target, &judged).approve(txn, &new)?;
    }
    let new = stored(txn, kind, new)?;
    store(txn, target, old, new)
}

/// Writes what has been validated, unless nothing changed or the last finalizer went.
pub(crate) fn store(
    txn: &mut Txn<'_>,
    target: &Target,
    old: &Arc<Object>,
    mut new: Value,
) -> Result<Arc<Object>, Status> {
    let kind = &target.kind;
    let key = target.key();
    if is_finished(kind, &new) {
        // The answer shows the object without its finalizers at the revision that it had.
        txn.remove(kind, &key);
        txn.owe(FollowUp::gone(&new));
        return Ok(Object::new(new, old.revision));
    }
    let managed = metadata::take(&mut new, "managedFields");
    if new == *old.value() {
        let managed = managed.as_ref().and_then(Value::as_str);
        // Times alone are no change.
        let same = |now: &str| now == old.managed() || managed::differ_in_times(kind, now, old.managed());
        if managed.is_none_or(same) {
            return Ok(old.clone());
        }
    }
    metadata::set(&mut new, "managedFields", managed);
    txn.put_limited(kind, &key, new)
}

/// The revision that a writer means to replace; none where it is 0.
fn asked_revision(object: &Value) -> Result<&str, Status> {
    let sent = metadata::text(object, "resourceVersion");
    match sent.parse::<u64>() {
        Ok(0) => Ok(""),
        Err(error) if !sent.is_empty() => Err(Status::internal(go::no_number("ParseUint", sent, &error))),
        _ => Ok(sent),
    }
}

/// What a client cannot change is taken from the old object.
pub(super) fn carry_over(new: &mut Value, old: &Value) {
    for (field, sent) in SYSTEM {
        let before = old["metadata"].get(field).cloned();
        let keeps = match sent {
            Sent::Ignored => true,
            Sent::IgnoredWhereSet => before.is_some(),
            Sent::Refused => {
                let sent = &new["metadata"][field];
                sent.is_null() || *sent == ""
            }
        };
        if keeps {
            metadata::set(new, field, before);
        }
    }
}

/// What describes an object, and not what it is.
const DESCRIPTION: [&str; 6] = [
    "annotations",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "labels",
    "ownerReferences",
];

/// The main path leaves the status alone; `/status` leaves all else alone but metadata, and other parts say it themselves.
fn separate(kind: &Kind, part: Part, new: &mut Value, old: &Value) {
    match kind.status_metadata {
        StatusMetadata::Kept if part == Part::Status => return only_status(new, old),
        StatusMetadata::Described if part == Part::Status => {
            for field in DESCRIPTION {
                metadata::set(new, field, old["metadata"].get(field).cloned());
            }
        }
        _ => {}
    }
    match part {
        Part::Main => separate_members(kind, part, new, old),
        Part::Status => {
            separate_members(kind, part, new, old);
            (kind.hooks.separate_status)(new, old);
        }
        Part::Sub(sub) => match kind.hooks.part(sub) {
            Some(part) => (part.separate)(new, old),
            None => separate_members(kind, part, new, old),
        },
    }
}

fn separate_members(kind: &Kind, part: Part, new: &mut Value, old: &Value) {
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

/// Leaves all of the old object but its status; who has written it is told all the same.
fn only_status(new: &mut Value, old: &Value) {
    let managed = metadata::take(new, "managedFields");
    let status = std::mem::replace(new, old.clone())
        .get_mut("status")
        .map(Value::take);
    json::assign(new, "status", status.unwrap_or_default());
    metadata::set(new, "managedFields", managed);
}

fn count_generation(target: &Target, new: &mut Value, old: &Value) {
    let kind = &target.kind;
    let is_same = match kind.defined() {
        Some(_) => target.part == Part::Status || is_same_but_for_metadata(new, old),
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

fn is_same_but_for_metadata(new: &Value, old: &Value) -> bool {
    let count = |object: &Value| object.as_object().map_or(0, serde_json::Map::len);
    let members = new.as_object().into_iter().flatten();
    let mut rest = members.filter(|(name, _)| *name != "metadata");
    count(new) == count(old) && rest.all(|(name, value)| old.get(name) == Some(value))
}

/// The rules for a changed object; returns warnings. Faults show what was sent without entries as it was sent.
fn judge(
    target: &Target,
    new: &Value,
    old: &Value,
    setting: &Setting<'_>,
    empties: &[Empty],
) -> Result<Vec<String>, Status> {
    let judged = validate(target, new, old, setting);
    let mut faults = match judged {
        Ok(warnings) => return Ok(warnings),
        Err(faults) => faults,
    };
    if target.part == Part::Main && !empties.is_empty() {
        let mut sent = new.clone();
        schema::put_back(&mut sent, empties);
        if let Err(told) = validate(target, &sent, old, setting) {
            faults.reword(told);
        }
    }
    Err(Status::invalid(
        target.kind.stored().subject(),
        target.name(),
        faults,
    ))
}

/// The rules for a change; returns warnings.
fn validate(target: &Target, new: &Value, old: &Value, setting: &Setting<'_>) -> Result<Vec<String>, Faults> {
    let kind = &target.kind;
    let mut faults = Faults::default();
    metadata::validate_common(new, |_| Vec::new(), &mut faults);
    metadata::validate_update(new, old, &mut faults);
    // The real server's rules of a kind look at it again, up to three times, and what they find is told as often: the first time
    // before all else, the last time by the rules for changes.
    let checks = kind.metadata_checks;
    let Looks { times, compare } = match target.part {
        Part::Main => checks.main,
        Part::Status | Part::Sub(_) => checks.status,
    };
    let check = |time: u8, faults: &mut Faults| {
        if compare && time == times {
            metadata::validate_update(new, old, faults);
        } else {
            metadata::described(new, faults);
        }
        if checks.know_finalizers {
            metadata::known_finalizers(new, faults);
        }
    };
    let mut warnings = Vec::new();
    if times > 0 {
        check(1, &mut faults);
    }
    if let Some(defined) = kind.defined() {
        warnings = custom::validate_update(kind, defined, target.part, (new, old), &mut faults);
    }
    if target.part == Part::Main {
        (kind.hooks.validate)(new, &mut faults);
        forbid_privileged(kind, new, setting.options, &mut faults);
        for time in 2..=times {
            check(time, &mut faults);
        }
        (kind.hooks.validate_update)(new, old, &mut faults);
        (kind.hooks.validate_update_then)(new, old, setting.profile, &mut faults);
    } else if let Part::Sub(sub) = target.part {
        if let Some(part) = kind.hooks.part(sub) {
            (part.validate)(new, old, &mut faults);
        }
    } else {
        (kind.hooks.validate_status)(new, old, &mut faults);
    }
    if faults.is_empty() {
        Ok(warnings)
    } else {
        Err(faults)
    }
}

/// What hooks may look at during a transaction. The time is passed in because the transaction stays borrowed.
pub(super) fn setting<'a>(txn: &'a Txn<'_>) -> Setting<'a> {
    Setting {
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
