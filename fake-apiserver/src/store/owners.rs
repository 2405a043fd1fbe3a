//! Index from owners to their dependents, and the work queue of the garbage collector.
//!
//! Updated by every commit. Does not collect: `controllers::garbage` does.

use crate::kinds::Catalogue;
use crate::machinery::{json, metadata};
use crate::object::Object;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";

/// Identifies a stored object: table index of its resource, and storage key.
pub(super) type ObjectId = (usize, Arc<str>);

/// The index from owners to dependents, and the queue of the garbage collector.
#[derive(Clone, Default)]
pub(super) struct Owners {
    /// Dependents by the uid of their owner.
    dependents: HashMap<String, BTreeSet<ObjectId>>,
    /// Objects for the garbage collector to check, oldest first: possible garbage, and owners that wait for the deletion of dependents.
    queue: VecDeque<ObjectId>,
    queued: BTreeSet<ObjectId>,
    /// Objects whose owners are of resources that are not served; enqueued again when the set of served resources changes.
    parked: BTreeSet<ObjectId>,
}

impl Owners {
    /// Updates the owner index for a change of an object.
    pub(super) fn update(
        &mut self,
        catalogue: &Catalogue,
        table_index: usize,
        key: &str,
        old: Option<&Object>,
        new: Option<&Object>,
    ) {
        let (before, after) = (references(old), references(new));
        let object_id = || (table_index, Arc::from(key));
        if before != after {
            for uid in uids(before) {
                let is_last = self.dependents.get_mut(uid).is_some_and(|dependents| {
                    dependents.remove(&object_id());
                    dependents.is_empty()
                });
                if is_last {
                    self.dependents.remove(uid);
                }
            }
            for uid in uids(after) {
                self.dependents
                    .entry(uid.to_owned())
                    .or_default()
                    .insert(object_id());
            }
            if !after.is_null() {
                self.enqueue(object_id());
            }
            // Owners in foreground deletion may have been waiting for this change of ownerReferences.
            for owner in owners(catalogue, old, before) {
                self.enqueue(owner);
            }
        }
        match (old, new) {
            (_, Some(new)) if waits_for_dependents(new.value()) => self.enqueue(object_id()),
            (Some(old), None) => {
                for dependent in self.dependents_of(metadata::text(old.value(), "uid")) {
                    self.enqueue(dependent);
                }
            }
            _ => {}
        }
    }

    pub(super) fn enqueue(&mut self, object_id: ObjectId) {
        if self.queued.insert(object_id.clone()) {
            self.queue.push_back(object_id);
        }
    }

    /// Parks an object whose owners are of resources that are not served: the object is checked when the served resources change.
    pub(super) fn park(&mut self, object_id: ObjectId) {
        self.parked.insert(object_id);
    }

    /// Enqueues all parked objects.
    pub(super) fn unpark(&mut self) {
        for object_id in std::mem::take(&mut self.parked) {
            self.enqueue(object_id);
        }
    }

    /// Removes the next object from the garbage collector's queue and returns it.
    pub(super) fn next(&mut self) -> Option<ObjectId> {
        let object_id = self.queue.pop_front()?;
        self.queued.remove(&object_id);
        Some(object_id)
    }

    pub(super) fn has_work(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(super) fn dependents_of(&self, uid: &str) -> Vec<ObjectId> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }
}

/// Whether an object is being deleted and has a finalizer that waits for the object's dependents.
pub(crate) fn waits_for_dependents(object: &Value) -> bool {
    metadata::is_deleting(object)
        && metadata::finalizers(object)
            .iter()
            .any(|finalizer| [FOREGROUND, ORPHAN].contains(finalizer))
}

fn references(object: Option<&Object>) -> &Value {
    object.map_or(
        &Value::Null,
        |object| &object.value()["metadata"]["ownerReferences"],
    )
}

/// Table index and storage key of each owner in ownerReferences. Skips owners of unknown kinds.
fn owners<'a>(
    catalogue: &'a Catalogue,
    of: Option<&'a Object>,
    references: &'a Value,
) -> impl Iterator<Item = ObjectId> + 'a {
    let namespace = of.map_or("", |object| metadata::text(object.value(), "namespace"));
    json::list(references).iter().filter_map(move |reference| {
        let text = |field: &str| json::string(reference, field);
        let kind = catalogue.find_kind(text("apiVersion"), text("kind"))?;
        Some((kind.table_index(), kind.key(Some(namespace), text("name")).into()))
    })
}

fn uids(references: &Value) -> impl Iterator<Item = &str> {
    let list = json::list(references).iter();
    list.filter_map(|reference| reference["uid"].as_str())
}
