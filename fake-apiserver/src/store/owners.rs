//! Index from owners to their dependents, and the work queue of the garbage collector.
//!
//! Updated by every commit. Does not collect: `controllers::garbage` does.

use crate::kinds::Catalogue;
use crate::machinery::metadata;
use crate::object::Object;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// Finalizers of an owner until its dependents are deleted or orphaned.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";

/// A stored object: table index of its resource, and key.
pub(super) type Spot = (usize, Arc<str>);

/// Owners, dependents and the garbage collector's queue.
#[derive(Clone, Default)]
pub(super) struct Owners {
    /// Dependents by the uid of their owner.
    dependents: HashMap<String, BTreeSet<Spot>>,
    /// Objects that may be garbage or wait for their dependents, oldest first.
    queue: VecDeque<Spot>,
    queued: BTreeSet<Spot>,
    /// Objects with owners of resources that are not served. Enqueued again when other resources are served.
    parked: BTreeSet<Spot>,
}

impl Owners {
    /// Updates the index for a change of an object.
    pub(super) fn note(
        &mut self,
        catalogue: &Catalogue,
        shelf: usize,
        key: &str,
        old: Option<&Object>,
        new: Option<&Object>,
    ) {
        let (before, after) = (references(old), references(new));
        let spot = || (shelf, Arc::from(key));
        if before != after {
            for uid in uids(before) {
                let gone = self.dependents.get_mut(uid).is_some_and(|dependents| {
                    dependents.remove(&spot());
                    dependents.is_empty()
                });
                if gone {
                    self.dependents.remove(uid);
                }
            }
            for uid in uids(after) {
                self.dependents.entry(uid.to_owned()).or_default().insert(spot());
            }
            if !after.is_null() {
                self.enqueue(spot());
            }
            // Owners in foreground deletion may have waited for this change.
            for owner in owners(catalogue, old, before) {
                self.enqueue(owner);
            }
        }
        match (old, new) {
            (_, Some(new)) if waits(new.value()) => self.enqueue(spot()),
            (Some(old), None) => {
                for dependent in self.of(metadata::text(old.value(), "uid")) {
                    self.enqueue(dependent);
                }
            }
            _ => {}
        }
    }

    pub(super) fn enqueue(&mut self, spot: Spot) {
        if self.queued.insert(spot.clone()) {
            self.queue.push_back(spot);
        }
    }

    /// Parks an object whose owners cannot be resolved with the served resources.
    pub(super) fn park(&mut self, spot: Spot) {
        self.parked.insert(spot);
    }

    /// Enqueues all parked objects.
    pub(super) fn unpark(&mut self) {
        for spot in std::mem::take(&mut self.parked) {
            self.enqueue(spot);
        }
    }

    /// Takes the next object from the queue.
    pub(super) fn next(&mut self) -> Option<Spot> {
        let spot = self.queue.pop_front()?;
        self.queued.remove(&spot);
        Some(spot)
    }

    pub(super) fn has_work(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The dependents of an owner.
    pub(super) fn of(&self, uid: &str) -> Vec<Spot> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }
}

/// Whether an object is being deleted and a finalizer makes it wait for its dependents.
pub(crate) fn waits(object: &Value) -> bool {
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

/// Locations of the owners that an object refers to.
fn owners<'a>(
    catalogue: &'a Catalogue,
    of: Option<&'a Object>,
    references: &'a Value,
) -> impl Iterator<Item = Spot> + 'a {
    let namespace = of.map_or("", |object| metadata::text(object.value(), "namespace"));
    references
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(move |reference| {
            let text = |field: &str| reference[field].as_str().unwrap_or_default();
            let kind = catalogue.find_kind(text("apiVersion"), text("kind"))?;
            Some((kind.shelf(), kind.key(Some(namespace), text("name")).into()))
        })
}

fn uids(references: &Value) -> impl Iterator<Item = &str> {
    let list = references.as_array().into_iter().flatten();
    list.filter_map(|reference| reference["uid"].as_str())
}
