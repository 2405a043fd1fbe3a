//! Deletion of objects. If a grace period, finalizers or the content of a namespace delay the deletion, the object first gets a
//! deletionTimestamp.
//!
//! Does not know why an object is deleted: callers are `delete`, `evict` and the controllers.

use super::call::{Answer, Target};
use super::convert::to_requested_version;
use super::delete_options::DeleteOptions;
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::store::{ControllerWork, ORPHAN, Txn};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::sync::Arc;

/// Number of objects to delete before the lock is released for other requests.
const REMOVED_AT_ONCE: usize = 64;

/// Deletes one object, or sets its deletionTimestamp.
pub(super) fn remove(
    txn: &mut Txn<'_>,
    target: &Target,
    old: &Arc<Object>,
    options: &DeleteOptions,
) -> Result<Answer, Status> {
    let kind = &target.kind;
    options.check_preconditions(kind, target.name(), old.value())?;
    if let Some(mark) = kind.defines.filter(|_| !metadata::is_deleting(old.value())) {
        let mut object = old.value().clone();
        mark(&mut object, &txn.now);
        let marked = txn.put(kind, &target.key(), object);
        return Ok(Answer::object(200, marked));
    }
    let grace = (kind.grace)(old.value(), txn.options(), options.grace_seconds);
    let by_kind = kind.orphans_by_default.filter(|_| options.is_silent);
    if let Some(warning) = by_kind.flatten()
        && !txn.warnings.iter().any(|known| known == warning)
    {
        txn.warnings.push(warning.to_owned());
    }
    let propagation = options.propagation.or(by_kind.map(|_| ORPHAN));
    let has_finalizers = propagation.is_some() || !metadata::finalizers(old.value()).is_empty();
    let has_grace_period = grace.is_some_and(|seconds| seconds > 0);
    if has_finalizers || has_grace_period || kind.end.is_some() {
        let mut object = old.value().clone();
        if let Some(finalizer) = propagation {
            metadata::add_finalizer(&mut object, finalizer);
        }
        set_deletion_timestamp(&mut object, grace.unwrap_or_default(), &txn.now);
        if let Some(end) = kind.end {
            end(&mut object);
        }
        let key = target.key();
        let marked = if object == *old.value() {
            old.clone()
        } else {
            txn.put(kind, &key, object)
        };
        if kind.end.is_some() {
            txn.enqueue_work(ControllerWork::NamespaceEnding(target.name().to_owned()));
        }
        // Legacy behaviour: the status is 202 only if the request has `orphanDependents: false`.
        let code = if options.is_cascading { 202 } else { 200 };
        return Ok(Answer::object(code, to_requested_version(kind, marked)));
    }
    txn.remove(kind, &target.key());
    txn.enqueue_work(ControllerWork::deleted(old.value()));
    if kind.returns_deleted {
        let mut object = old.value().clone();
        if grace.is_some() {
            set_deletion_timestamp(&mut object, 0, &txn.now);
        }
        return Ok(Answer::object(200, old.replace_value(object, old.revision)));
    }
    Ok(Answer::Status(Status::deleted(
        kind.group_resource(),
        target.name(),
        metadata::text(old.value(), "uid"),
    )))
}

/// Sets the deletionTimestamp of an object. If it has one already, the grace period can only become shorter.
fn set_deletion_timestamp(object: &mut Value, grace_seconds: i64, now: &str) {
    let current_grace = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    if metadata::is_deleting(object)
        && current_grace.is_some_and(|current_grace| current_grace <= grace_seconds)
    {
        return;
    }
    if !metadata::is_deleting(object) {
        metadata::bump_generation(object);
    }
    let end = now
        .parse::<Timestamp>()
        .ok()
        .and_then(|t| t.checked_add(SignedDuration::from_secs(grace_seconds)).ok());
    let end = end.map_or_else(
        || now.to_owned(),
        |t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    );
    metadata::set(object, "deletionTimestamp", Some(end.into()));
    metadata::set(object, "deletionGracePeriodSeconds", Some(grace_seconds.into()));
}

/// Whether an object is being deleted, and no grace period, finalizer or namespace content delays its removal.
pub(crate) fn can_be_removed(kind: &Kind, object: &Value) -> bool {
    let content = kind.end.is_some() && !json::texts(&object["spec"]["finalizers"]).is_empty();
    metadata::is_deleting(object)
        && metadata::finalizers(object).is_empty()
        && !content
        && object["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap_or_default()
            == 0
}

pub(crate) fn remove_garbage(
    txn: &mut Txn<'_>,
    target: &Target,
    object: &Arc<Object>,
    propagation: Option<&'static str>,
) {
    let options = DeleteOptions {
        propagation,
        ..DeleteOptions::without_preconditions(txn.dry_run)
    };
    // Deletion without preconditions cannot fail.
    drop(remove(txn, target, object, &options));
}

/// Deletes those of the given objects that still exist; objects with finalizers only get a deletionTimestamp. Releases the lock from time
/// to time: in kube-apiserver, deletecollection is not atomic either.
pub(super) fn remove_each(
    txn: &mut Txn<'_>,
    kind: &Kind,
    objects: &[Arc<Object>],
    options: &DeleteOptions,
) -> Result<(), Status> {
    for (number, object) in objects.iter().enumerate() {
        if number % REMOVED_AT_ONCE == REMOVED_AT_ONCE - 1 {
            txn.yield_lock();
        }
        let target = Target::of(kind, object.value());
        if let Some(present) = current_state(txn, &target, object) {
            remove(txn, &target, &present, options)?;
        }
    }
    Ok(())
}

/// Deletes all objects of a resource in one namespace or, without a namespace, in all of them.
pub(crate) fn remove_all(txn: &mut Txn<'_>, kind: &Kind, namespace: Option<&str>) {
    let options = DeleteOptions::without_preconditions(txn.dry_run);
    let objects = txn.in_namespace(kind, namespace);
    // Deletion without preconditions cannot fail.
    drop(remove_each(txn, kind, &objects, &options));
}

/// The current state of an object. `None` if the object was deleted or recreated.
fn current_state(txn: &Txn<'_>, target: &Target, object: &Object) -> Option<Arc<Object>> {
    let found = txn.get(&target.kind, &target.key())?;
    (metadata::text(found.value(), "uid") == metadata::text(object.value(), "uid")).then_some(found)
}
