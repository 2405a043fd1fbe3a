//! Desired keys (class, segment) and existing objects, and which keys need reconciliation after a change. Makes no requests. Uses the clock
//! only to record when an object was first observed.
//!
//! Objects come from the watch and from this publisher's own writes, in any order. Creates and deletions in progress are recorded, so that
//! their watch events do not trigger a reconciliation.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use capacity_types::Segment;
use k8s_openapi::api::storage::v1::CSIStorageCapacity;

use tokio::time::Instant;

use super::desired::{Key, KeyTopology};
use crate::{cluster::is_older, dialect::SelectorForm};

/// The `parameters` of a StorageClass for which objects are published.
type Parameters = Arc<BTreeMap<String, String>>;

/// The desired keys (class and segment) and the existing CSIStorageCapacity objects of the publisher.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    classes: BTreeMap<Arc<str>, Parameters>,
    segments: BTreeSet<Arc<Segment>>,
    objects: HashMap<String, KnownObject>,
    by_key: HashMap<Key, BTreeSet<String>>,
    creating: HashSet<Key>,
    form: SelectorForm,
}

#[derive(Debug)]
pub(crate) struct KnownObject {
    key: Key,
    object: Arc<CSIStorageCapacity>,
    /// Whether the watch delivered the object. False if the object is known only from the response to this publisher's create.
    observed: bool,
    /// Whether a complete list lacked the object although no watch event reported its deletion.
    unverified: bool,
    /// Whether this publisher is deleting the object.
    deleting: bool,
    /// When GetCapacity last returned the object's values. Initially the time at which the object was first observed.
    refreshed_at: Instant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Number of desired keys (class and segment).
    pub(crate) goal: usize,
    /// Number of desired keys that have an object.
    pub(crate) current: usize,
    /// Number of objects to be deleted.
    pub(crate) obsolete: usize,
}

/// Whether one key (class and segment) is desired, and which objects exist for the key.
#[derive(Debug, PartialEq)]
pub(crate) struct KeyState {
    /// Parameters of the StorageClass. `None` if the key is not desired.
    pub(crate) desired: Option<Parameters>,
    /// Existing objects with this key. The first object is retained, the others are duplicates.
    pub(crate) objects: Vec<Arc<CSIStorageCapacity>>,
    /// Whether the first of the existing objects may have been deleted.
    pub(crate) unverified: bool,
}

impl Ledger {
    pub(crate) fn new(form: SelectorForm) -> Ledger {
        Ledger {
            form,
            ..Ledger::default()
        }
    }

    /// Sets the parameters of a class for which objects are published; `None` if the class no longer has published objects. Returns the
    /// affected keys.
    pub(crate) fn set_class(&mut self, class: &str, parameters: Option<Parameters>) -> Vec<Key> {
        let class: Arc<str> = class.into();
        let changed = match parameters {
            None => self.classes.remove(&class).is_some(),
            Some(parameters) if self.classes.get(&class) == Some(&parameters) => false,
            Some(parameters) => {
                self.classes.insert(Arc::clone(&class), parameters);
                true
            }
        };
        if !changed {
            return Vec::new();
        }
        self.segments.iter().map(|segment| key(&class, segment)).collect()
    }

    /// Adds a topology segment. Returns the desired keys of the segment if the segment is new.
    pub(crate) fn add_segment(&mut self, segment: &Segment) -> Vec<Key> {
        let segment = Arc::new(segment.clone());
        let new = self.segments.insert(Arc::clone(&segment));
        self.keys_in(&segment).filter(|_| new).collect()
    }

    /// Removes a topology segment. Returns the keys of the segment that were desired until now.
    pub(crate) fn remove_segment(&mut self, segment: &Segment) -> Vec<Key> {
        match self.segments.take(segment) {
            Some(segment) => self.keys_in(&segment).collect(),
            None => Vec::new(),
        }
    }

    pub(crate) fn desired_keys(&self) -> Vec<Key> {
        self.segments
            .iter()
            .flat_map(|segment| self.keys_in(segment))
            .collect()
    }

    pub(crate) fn desired_keys_where(
        &self,
        class: impl Fn(&str) -> bool,
        segment: impl Fn(&Segment) -> bool,
    ) -> Vec<Key> {
        let segments = self.segments.iter().filter(|known| segment(known));
        segments
            .flat_map(|segment| self.keys_in(segment))
            .filter(|key| class(&key.class))
            .collect()
    }

    /// Records an object from a watch event. Returns the object's key if the key needs reconciliation.
    pub(crate) fn observe(&mut self, object: Arc<CSIStorageCapacity>) -> Option<Key> {
        let uid = object.metadata.uid.clone()?;
        if object.metadata.deletion_timestamp.is_some() {
            return self.observe_deletion(&uid);
        }
        let key = Key::of(&object, self.form);
        self.store(&uid, object, true)
            .then_some(key)
            .filter(|key| !self.creating.contains(key))
    }

    /// Records a deletion from a watch event. Returns the deleted object's key if the key needs reconciliation.
    pub(crate) fn observe_deletion(&mut self, uid: &str) -> Option<Key> {
        let known = self.forget(uid)?;
        (!known.deleting && self.is_desired(&known.key)).then_some(known.key)
    }

    /// Records that a restarted watch has listed all objects. Returns the keys of objects known only from this publisher's writes: they may
    /// have been deleted meanwhile. Removes the objects that this publisher deleted, because no event will report their deletion.
    pub(crate) fn list_completed(&mut self) -> Vec<Key> {
        let is_unobserved_deletion = |known: &KnownObject| known.deleting && !known.observed;
        let deletions = self
            .objects
            .iter()
            .filter(|(_, known)| is_unobserved_deletion(known));
        let deletions: Vec<String> = deletions.map(|(uid, _)| uid.clone()).collect();
        for uid in &deletions {
            self.forget(uid);
        }
        let unobserved = self.objects.values_mut().filter(|known| !known.observed);
        unobserved
            .map(|known| {
                known.unverified = true;
                known.key.clone()
            })
            .collect()
    }

    pub(crate) fn key_state(&self, key: &Key) -> KeyState {
        let uids = self.by_key.get(key).into_iter().flatten();
        let mut known: Vec<&KnownObject> = uids
            .filter_map(|uid| self.objects.get(uid))
            .filter(|known| !known.deleting)
            .collect();
        known.sort_by_key(|known| {
            let metadata = &known.object.metadata;
            (
                metadata.creation_timestamp.as_ref().map(|time| time.0),
                metadata.name.clone(),
            )
        });
        KeyState {
            desired: self
                .is_desired(key)
                .then(|| self.classes.get(&key.class).cloned())
                .flatten(),
            unverified: known.first().is_some_and(|known| known.unverified),
            objects: known.into_iter().map(|known| Arc::clone(&known.object)).collect(),
        }
    }

    /// Records that GetCapacity returned values at the time `at`, and that the object of the key has these values.
    pub(crate) fn record_refresh(&mut self, key: &Key, at: Instant) {
        for uid in self.by_key.get(key).into_iter().flatten() {
            if let Some(known) = self.objects.get_mut(uid) {
                known.refreshed_at = at;
            }
        }
    }

    /// For each object with a desired key, the time since its values were refreshed.
    pub(crate) fn ages(&self, now: Instant) -> Vec<(Key, Duration)> {
        let first = |(key, uids): (&Key, &BTreeSet<String>)| {
            let known = uids.iter().find_map(|uid| self.objects.get(uid))?;
            Some((key.clone(), now.duration_since(known.refreshed_at)))
        };
        let desired = self.by_key.iter().filter(|(key, _)| self.is_desired(key));
        desired.filter_map(first).collect()
    }

    pub(crate) fn counts(&self) -> Counts {
        let current = self.by_key.keys().filter(|key| self.is_desired(key)).count();
        Counts {
            goal: self.segments.len() * self.classes.len(),
            current,
            obsolete: self.objects.len() - current,
        }
    }

    pub(crate) fn begin_create(&mut self, key: &Key) {
        self.creating.insert(key.clone());
    }

    /// Records the end of a create request. `created`: the object, `None` if the request failed. Returns whether the key has duplicates.
    pub(crate) fn end_create(&mut self, key: &Key, created: Option<CSIStorageCapacity>) -> bool {
        self.creating.remove(key);
        if let Some(object) = created
            && let Some(uid) = object.metadata.uid.clone()
        {
            self.store(&uid, Arc::new(object), false);
        }
        self.by_key.get(key).is_some_and(|uids| uids.len() > 1)
    }

    /// Stores the object from the API server's response to an update or get.
    pub(crate) fn record_written(&mut self, object: CSIStorageCapacity) {
        if let Some(uid) = object.metadata.uid.clone()
            && let Some(known) = self.objects.get_mut(&uid)
        {
            known.unverified = false;
            self.store(&uid, Arc::new(object), false);
        }
    }

    /// Records that a deletion is in progress: the object counts as deleted.
    pub(crate) fn begin_delete(&mut self, uid: &str) {
        self.mark_deleting(uid, true);
    }

    /// Records that a deletion failed: the object counts as existing again.
    pub(crate) fn undo_delete(&mut self, uid: &str) {
        self.mark_deleting(uid, false);
    }

    fn mark_deleting(&mut self, uid: &str, deleting: bool) {
        if let Some(known) = self.objects.get_mut(uid) {
            known.deleting = deleting;
        }
    }

    /// Stores the newest version of an object. Returns whether the object was unknown.
    fn store(&mut self, uid: &str, object: Arc<CSIStorageCapacity>, observed: bool) -> bool {
        let key = Key::of(&object, self.form);
        self.store_as(uid, key, object, observed)
    }

    fn store_as(&mut self, uid: &str, key: Key, object: Arc<CSIStorageCapacity>, observed: bool) -> bool {
        if let Some(known) = self.objects.get_mut(uid) {
            known.observed |= observed;
            known.unverified &= !observed;
            if !is_older(&object.metadata, &known.object.metadata) {
                known.object = object;
            }
            return false;
        }
        self.by_key.entry(key.clone()).or_default().insert(uid.to_owned());
        let known = KnownObject {
            key,
            object,
            observed,
            unverified: false,
            deleting: false,
            refreshed_at: Instant::now(),
        };
        self.objects.insert(uid.to_owned(), known);
        true
    }

    /// Removes an object that no longer exists from the ledger.
    pub(crate) fn forget(&mut self, uid: &str) -> Option<KnownObject> {
        let known = self.objects.remove(uid)?;
        if let Some(uids) = self.by_key.get_mut(&known.key) {
            uids.remove(uid);
            if uids.is_empty() {
                self.by_key.remove(&known.key);
            }
        }
        Some(known)
    }

    fn is_desired(&self, key: &Key) -> bool {
        let KeyTopology::Segment(segment) = &key.topology else {
            return false;
        };
        self.segments.contains(segment) && self.classes.contains_key(&key.class)
    }

    fn keys_in(&self, segment: &Arc<Segment>) -> impl Iterator<Item = Key> {
        self.classes.keys().map(|class| key(class, segment))
    }
}

fn key(class: &Arc<str>, segment: &Arc<Segment>) -> Key {
    Key {
        class: Arc::clone(class),
        topology: KeyTopology::Segment(Arc::clone(segment)),
    }
}

#[cfg(test)]
mod tests;
