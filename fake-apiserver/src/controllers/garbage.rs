//! Garbage collection: what becomes of objects whose owners go.
//!
//! Plays the garbage collector of the controller manager, as the client `system:gc`: dependents of owners that are
//! gone are deleted, references to such owners are taken out of dependents that have others, and owners that wait for
//! their dependents (`foregroundDeletion`, `orphan`) are let go when these are dealt with. One transaction for each
//! object, so that others come in between. Like the real one, which sees through discovery, it leaves alone what is not
//! served, and takes owners that are not served for present; both are looked at again when that changes.

use super::follow_up::follow_up;
use super::namespaces::CONTROLLERS;
use crate::kinds::{Kind, Part};
use crate::machinery::metadata;
use crate::object::Object;
use crate::patch::managed::FieldManager;
use crate::store::{FOREGROUND, ORPHAN, Store, Txn, waits};
use crate::verbs::call::Target;
use crate::verbs::{remove, write};
use serde_json::Value;
use std::sync::Arc;

/// Who collects garbage.
const CLIENT: &str = "system:gc";

/// Collects what is due, in the background where there is a runtime to do so. The server is not quiet before it is
/// done.
pub(crate) fn collect(store: &Arc<Store>) {
    let (store, busy) = (store.clone(), store.activity().begin());
    let work = move || {
        let client: Arc<str> = CLIENT.into();
        loop {
            let mut txn = store.begin(&client);
            if !step(&mut txn) {
                break;
            }
            follow_up(&mut txn);
        }
        drop(busy);
    };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn(async move { work() })),
        Err(_) => work(),
    }
}

/// Looks at one object; whether there was one to look at.
fn step(txn: &mut Txn<'_>) -> bool {
    let Some((kind, key)) = txn.next_to_collect() else {
        return false;
    };
    let Some(object) = txn.get(&kind, &key) else {
        return true;
    };
    if !is_reachable(txn, &kind) {
        txn.collect_later(&kind, &key);
        return true;
    }
    if has_hidden_owner(txn, object.value()) {
        txn.collect_later(&kind, &key);
    }
    if waits(object.value()) {
        owner(txn, &kind, &object);
    } else if !metadata::is_deleting(object.value()) {
        dependent(txn, &kind, &object);
    }
    true
}

/// What the owners of an object are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// There, and stays.
    Solid,
    /// There until its dependents are gone.
    Waiting,
    /// Not there, or another object of that name.
    Absent,
}

fn dependent(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>) {
    let references = object.value()["metadata"]["ownerReferences"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let states: Vec<Owner> = references
        .iter()
        .map(|reference| state(txn, object.value(), reference))
        .collect();
    if states.iter().all(|state| *state == Owner::Solid) {
        return;
    }
    if states.contains(&Owner::Solid) {
        let kept = references
            .iter()
            .zip(&states)
            .filter(|(_, state)| **state == Owner::Solid);
        let kept: Value = kept.map(|(reference, _)| reference.clone()).collect();
        return write(txn, kind, object, "ownerReferences", kept);
    }
    // Whoever waits for this object waits for its dependents as well.
    let dependents = match states.contains(&Owner::Waiting) {
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
    remove::collect(txn, &Target::of(kind, object.value()), object, propagation);
}

/// Whether an owner is being deleted and waits for its dependents.
fn is_waiting(object: &Value) -> bool {
    metadata::is_deleting(object) && metadata::finalizers(object).contains(&FOREGROUND)
}

/// Takes it out of an object that it blocks the deletion of its owners: where owners and dependents form a ring, each would
/// wait for the next for ever. Returns what has become of it.
fn unblock(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>) -> Option<Arc<Object>> {
    let mut references = object.value()["metadata"]["ownerReferences"].clone();
    for reference in references.as_array_mut().into_iter().flatten() {
        reference["blockOwnerDeletion"] = false.into();
    }
    write(txn, kind, object, "ownerReferences", references);
    let target = Target::of(kind, object.value());
    txn.get(kind, &target.key())
}

/// Whether an owner is of a kind that is not served now.
fn has_hidden_owner(txn: &Txn<'_>, object: &Value) -> bool {
    let references = object["metadata"]["ownerReferences"].as_array();
    references
        .into_iter()
        .flatten()
        .filter_map(|reference| owner_kind(txn, reference))
        .any(|kind| !is_reachable(txn, &kind))
}

/// Whether a kind is served in any version.
fn is_reachable(txn: &Txn<'_>, kind: &Kind) -> bool {
    let api = txn.api();
    api.catalogue.is_reachable(kind, api.profile)
}

fn owner_kind(txn: &Txn<'_>, reference: &Value) -> Option<Kind> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let api = txn.api();
    api.catalogue.find_kind(text("apiVersion"), text("kind")).cloned()
}

fn state(txn: &Txn<'_>, object: &Value, reference: &Value) -> Owner {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let Some(kind) = owner_kind(txn, reference).filter(|kind| is_reachable(txn, kind)) else {
        return Owner::Solid;
    };
    let namespace = metadata::text(object, "namespace");
    if kind.namespaced && namespace.is_empty() {
        // An object without a namespace cannot be owned by one that has one: the reference is ignored.
        return Owner::Solid;
    }
    match txn.get(&kind, &kind.key(Some(namespace), text("name"))) {
        Some(owner) if metadata::text(owner.value(), "uid") == text("uid") => {
            if is_waiting(owner.value()) {
                Owner::Waiting
            } else {
                Owner::Solid
            }
        }
        _ => Owner::Absent,
    }
}

/// An owner that is being deleted and waits for its dependents.
fn owner(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>) {
    let uid = metadata::text(object.value(), "uid").to_owned();
    let dependents = txn.dependents(&uid);
    let owned = |reference: &Value| reference["uid"] == uid.as_str();
    if metadata::finalizers(object.value()).contains(&ORPHAN) {
        for (kind, dependent) in &dependents {
            let references = dependent.value()["metadata"]["ownerReferences"].as_array();
            let kept: Value = references
                .into_iter()
                .flatten()
                .filter(|each| !owned(each))
                .cloned()
                .collect();
            write(txn, kind, dependent, "ownerReferences", kept);
        }
        return release(txn, kind, object, ORPHAN);
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
        return release(txn, kind, object, FOREGROUND);
    }
    for (kind, dependent) in blocking {
        if !metadata::is_deleting(dependent.value()) {
            self::dependent(txn, &kind, &dependent);
        }
    }
}

fn release(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>, finalizer: &str) {
    let kept: Value = metadata::finalizers(object.value())
        .into_iter()
        .filter(|each| *each != finalizer)
        .collect();
    write(txn, kind, object, "finalizers", kept);
}

/// Writes a list of `metadata`; an empty one goes.
fn write(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>, field: &str, list: Value) {
    let mut changed = object.value().clone();
    let empty = list.as_array().is_none_or(Vec::is_empty);
    metadata::set(&mut changed, field, Some(list).filter(|_| !empty));
    let writer = FieldManager {
        kind,
        manager: CONTROLLERS,
        part: Part::Main,
    };
    writer.track(&txn.now, Some(object), &mut changed);
    // Nothing refuses a change of metadata that was valid before.
    drop(write::store(
        txn,
        &Target::of(kind, object.value()),
        object,
        changed,
    ));
}
