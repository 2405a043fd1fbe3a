//! Garbage collection of objects whose owners were deleted.
//!
//! Implements the garbage collector of kube-controller-manager, as the client `system:gc`: deletes dependents whose owners were all
//! deleted, removes references to deleted owners from other dependents, and removes the `foregroundDeletion` or `orphan` finalizer of
//! owners when their dependents are deleted or orphaned. Each object is processed in its own transaction, so that other requests run in
//! between. Like upstream, which relies on discovery, skips resources that are not served and treats owners of such resources as existing;
//! such dependents and owners are checked again when the set of served resources changes.

use super::follow_up::run_queued_work;
use super::namespaces::CONTROLLERS;
use crate::kinds::{Kind, Part};
use crate::machinery::metadata;
use crate::object::Object;
use crate::patch::managed::FieldManager;
use crate::store::{FOREGROUND, ORPHAN, Store, Txn, waits_for_dependents};
use crate::verbs::call::Target;
use crate::verbs::{remove, write};
use serde_json::Value;
use std::sync::Arc;

const CLIENT: &str = "system:gc";

/// Processes the queue of the garbage collector, in the background if there is an async runtime. The server does not count as idle before
/// the queue is empty.
pub(crate) fn collect(store: &Arc<Store>) {
    let (store, busy) = (store.clone(), store.activity().begin());
    let work = move || {
        let client: Arc<str> = CLIENT.into();
        loop {
            let mut txn = store.begin(&client);
            if !process_next(&mut txn) {
                break;
            }
            run_queued_work(&mut txn);
        }
        drop(busy);
    };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn(async move { work() })),
        Err(_) => work(),
    }
}

/// Processes one object of the queue. Returns false if the queue is empty.
fn process_next(txn: &mut Txn<'_>) -> bool {
    let Some((kind, key)) = txn.next_to_collect() else {
        return false;
    };
    let Some(object) = txn.get(&kind, &key) else {
        return true;
    };
    if !txn.api().is_reachable(&kind) {
        txn.collect_later(&kind, &key);
        return true;
    }
    if has_hidden_owner(txn, object.value()) {
        txn.collect_later(&kind, &key);
    }
    if waits_for_dependents(object.value()) {
        process_owner(txn, &kind, &object);
    } else if !metadata::is_deleting(object.value()) {
        process_dependent(txn, &kind, &object);
    }
    true
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnerState {
    /// The owner exists and is not in foreground deletion, or the server cannot check the owner.
    Solid,
    /// The owner is in foreground deletion and waits for the deletion of its dependents.
    Waiting,
    /// The owner does not exist or has another uid than the ownerReference.
    Absent,
}

fn process_dependent(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>) {
    let references = object.value()["metadata"]["ownerReferences"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let states: Vec<OwnerState> = references
        .iter()
        .map(|reference| owner_state(txn, object.value(), reference))
        .collect();
    if states.iter().all(|state| *state == OwnerState::Solid) {
        return;
    }
    if states.contains(&OwnerState::Solid) {
        let remaining = references
            .iter()
            .zip(&states)
            .filter(|(_, state)| **state == OwnerState::Solid);
        let remaining: Value = remaining.map(|(reference, _)| reference.clone()).collect();
        return write_metadata_list(txn, kind, object, "ownerReferences", remaining);
    }
    // If an owner is in foreground deletion, the dependents of the object must be deleted before the object.
    let dependents = match states.contains(&OwnerState::Waiting) {
        true => txn.dependents(metadata::text(object.value(), "uid")),
        false => Vec::new(),
    };
    let blocks = !dependents.is_empty();
    let is_ring = dependents.iter().any(|(_, each)| is_waiting(each.value()));
    let unblocked = is_ring.then(|| unblock(txn, kind, object)).flatten();
    let object = unblocked.as_ref().unwrap_or(object);
    let finalizers = metadata::finalizers(object.value());
    let propagation = [ORPHAN, FOREGROUND]
        .into_iter()
        .find(|finalizer| finalizers.contains(finalizer));
    let propagation = propagation.or(blocks.then_some(FOREGROUND));
    remove::remove_garbage(txn, &Target::of(kind, object.value()), object, propagation);
}

/// Whether an object is in foreground deletion: it exists until its dependents are deleted.
fn is_waiting(object: &Value) -> bool {
    metadata::is_deleting(object) && metadata::finalizers(object).contains(&FOREGROUND)
}

/// Sets blockOwnerDeletion to false in all owner references of an object, because objects that own each other would wait for each other
/// forever. Returns the changed object.
fn unblock(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>) -> Option<Arc<Object>> {
    let mut references = object.value()["metadata"]["ownerReferences"].clone();
    for reference in references.as_array_mut().into_iter().flatten() {
        reference["blockOwnerDeletion"] = false.into();
    }
    write_metadata_list(txn, kind, object, "ownerReferences", references);
    let target = Target::of(kind, object.value());
    txn.get(kind, &target.key())
}

/// Whether the object has an owner whose resource is not served in any version.
fn has_hidden_owner(txn: &Txn<'_>, object: &Value) -> bool {
    let references = object["metadata"]["ownerReferences"].as_array();
    references
        .into_iter()
        .flatten()
        .filter_map(|reference| owner_kind(txn, reference))
        .any(|kind| !txn.api().is_reachable(&kind))
}

fn owner_kind(txn: &Txn<'_>, reference: &Value) -> Option<Kind> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let api = txn.api();
    api.catalogue.find_kind(text("apiVersion"), text("kind")).cloned()
}

fn owner_state(txn: &Txn<'_>, object: &Value, reference: &Value) -> OwnerState {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let Some(kind) = owner_kind(txn, reference).filter(|kind| txn.api().is_reachable(kind)) else {
        return OwnerState::Solid;
    };
    let namespace = metadata::text(object, "namespace");
    if kind.namespaced && namespace.is_empty() {
        // A cluster-scoped object cannot have a namespaced owner, so the reference is ignored.
        return OwnerState::Solid;
    }
    match txn.get(&kind, &kind.key(Some(namespace), text("name"))) {
        Some(owner) if metadata::text(owner.value(), "uid") == text("uid") => {
            if is_waiting(owner.value()) {
                OwnerState::Waiting
            } else {
                OwnerState::Solid
            }
        }
        _ => OwnerState::Absent,
    }
}

/// Processes an owner that is being deleted and waits until its dependents are deleted or orphaned.
fn process_owner(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>) {
    let uid = metadata::text(object.value(), "uid").to_owned();
    let dependents = txn.dependents(&uid);
    let owned = |reference: &Value| reference["uid"] == uid.as_str();
    if metadata::finalizers(object.value()).contains(&ORPHAN) {
        for (kind, dependent) in &dependents {
            let references = dependent.value()["metadata"]["ownerReferences"].as_array();
            let remaining: Value = references
                .into_iter()
                .flatten()
                .filter(|each| !owned(each))
                .cloned()
                .collect();
            write_metadata_list(txn, kind, dependent, "ownerReferences", remaining);
        }
        return remove_finalizer(txn, kind, object, ORPHAN);
    }
    let blocking: Vec<_> = dependents
        .into_iter()
        .filter(|(_, dependent)| {
            let references = dependent.value()["metadata"]["ownerReferences"].as_array();
            references
                .into_iter()
                .flatten()
                .any(|each| owned(each) && each["blockOwnerDeletion"] == true)
        })
        .collect();
    if blocking.is_empty() {
        return remove_finalizer(txn, kind, object, FOREGROUND);
    }
    for (kind, dependent) in blocking {
        if !metadata::is_deleting(dependent.value()) {
            process_dependent(txn, &kind, &dependent);
        }
    }
}

fn remove_finalizer(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>, finalizer: &str) {
    let remaining: Value = metadata::finalizers(object.value())
        .into_iter()
        .filter(|each| *each != finalizer)
        .collect();
    write_metadata_list(txn, kind, object, "finalizers", remaining);
}

/// Sets a list in the `metadata` of an object; removes the field if the list is empty.
fn write_metadata_list(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>, field: &str, list: Value) {
    let mut changed = object.value().clone();
    let empty = list.as_array().is_none_or(Vec::is_empty);
    metadata::set(&mut changed, field, Some(list).filter(|_| !empty));
    let writer = FieldManager {
        kind,
        manager: CONTROLLERS,
        part: Part::Main,
    };
    writer.track(&txn.now, Some(object), &mut changed);
    // Cannot fail: the object was valid, and only metadata changes.
    drop(write::store(
        txn,
        &Target::of(kind, object.value()),
        object,
        changed,
    ));
}
