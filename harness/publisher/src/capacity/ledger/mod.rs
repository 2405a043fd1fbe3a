//! Desired keys and existing objects, and the keys that each change affects. Does not make requests. Uses the clock only to record when an
//! object was first seen.
//!
//! Objects come from the watch and from this publisher's writes, in any order. Creates in progress and own deletions are recorded, so that
//! their watch events cause no work.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use capacity_types::Segment;
use k8s_openapi::api::storage::v1::CSIStorageCapacity;

use tokio::time::Instant;

use super::desired::{Key, Place};
use crate::{cluster::is_older, dialect::SelectorForm};

/// Parameters of a publishable class.
type Parameters = Arc<BTreeMap<String, String>>;

/// The desired keys and the existing objects of the publisher.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    classes: BTreeMap<Arc<str>, Parameters>,
    segments: BTreeSet<Arc<Segment>>,
    objects: HashMap<String, Known>,
    by_key: HashMap<Key, BTreeSet<String>>,
    creating: HashSet<Key>,
    /// The form of the selectors that this publisher writes.
    form: SelectorForm,
}

/// An existing object.
#[derive(Debug)]
struct Known {
    key: Key,
    object: Arc<CSIStorageCapacity>,
    /// Whether the watch delivered it. False if it is only known from the response to this publisher's create.
    confirmed: bool,
    /// Whether a complete list lacked it although no watch event reported its deletion.
    doubtful: bool,
    /// Whether this publisher is deleting it.
    deleting: bool,
    /// When GetCapacity last returned the object's values. Initially, when the object was first seen.
    answered_at: Instant,
}

/// Numbers of desired and existing objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Desired keys.
    pub(crate) goal: usize,
    /// Desired keys with an object.
    pub(crate) current: usize,
    /// Objects to be deleted.
    pub(crate) obsolete: usize,
}

/// The state of one key.
#[derive(Debug, PartialEq)]
pub(crate) struct View {
    /// Parameters of the class. `None` if the key is not desired.
    pub(crate) wanted: Option<Parameters>,
    /// Existing objects. The first one is retained, others are duplicates.
    pub(crate) objects: Vec<Arc<CSIStorageCapacity>>,
    /// Whether the first object may have been deleted.
    pub(crate) doubtful: bool,
}

impl Ledger {
    /// An empty ledger. `form`: how this publisher writes selectors.
    pub(crate) fn new(form: SelectorForm) -> Ledger {
        Ledger {
            form,
            ..Ledger::default()
        }
    }

    /// Sets the parameters of a publishable class. `None`: it is no longer publishable. Returns the affected keys.
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

    /// Adds a segment. Returns the affected keys.
    pub(crate) fn add_segment(&mut self, segment: &Segment) -> Vec<Key> {
        let segment = Arc::new(segment.clone());
        let new = self.segments.insert(Arc::clone(&segment));
        self.keys_in(&segment).filter(|_| new).collect()
    }

    /// Removes a segment. Returns the affected keys.
    pub(crate) fn remove_segment(&mut self, segment: &Segment) -> Vec<Key> {
        match self.segments.take(segment) {
            Some(segment) => self.keys_in(&segment).collect(),
            None => Vec::new(),
        }
    }

    /// All desired keys.
    pub(crate) fn wanted(&self) -> Vec<Key> {
        self.segments
            .iter()
            .flat_map(|segment| self.keys_in(segment))
            .collect()
    }

    /// The desired keys whose class and segment meet these conditions.
    pub(crate) fn wanted_where(
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

    /// Records an object from the watch. Returns its key if it needs reconciliation.
    pub(crate) fn seen(&mut self, object: Arc<CSIStorageCapacity>) -> Option<Key> {
        let uid = object.metadata.uid.clone()?;
        if object.metadata.deletion_timestamp.is_some() {
            return self.gone(&uid);
        }
        let key = Key::of(&object, self.form);
        self.store(&uid, object, true)
            .then_some(key)
            .filter(|key| !self.creating.contains(key))
    }

    /// Records a deletion from the watch. Returns the key if it needs reconciliation.
    pub(crate) fn gone(&mut self, uid: &str) -> Option<Key> {
        let known = self.forget(uid)?;
        (!known.deleting && self.is_wanted(&known.key)).then_some(known.key)
    }

    /// Records that a restarted watch has listed all objects. Those known only from own writes may have been deleted: returns their keys.
    /// Forgets those that this publisher deleted too, because no event will report their deletion.
    pub(crate) fn listed(&mut self) -> Vec<Key> {
        let is_unseen = |known: &Known| known.deleting && !known.confirmed;
        let unseen = self.objects.iter().filter(|(_, known)| is_unseen(known));
        let unseen: Vec<String> = unseen.map(|(uid, _)| uid.clone()).collect();
        for uid in &unseen {
            self.forget(uid);
        }
        let unconfirmed = self.objects.values_mut().filter(|known| !known.confirmed);
        unconfirmed
            .map(|known| {
                known.doubtful = true;
                known.key.clone()
            })
            .collect()
    }

    /// The state of a key.
    pub(crate) fn view(&self, key: &Key) -> View {
        let uids = self.by_key.get(key).into_iter().flatten();
        let mut known: Vec<&Known> = uids
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
        View {
            wanted: self
                .is_wanted(key)
                .then(|| self.classes.get(&key.class).cloned())
                .flatten(),
            doubtful: known.first().is_some_and(|known| known.doubtful),
            objects: known.into_iter().map(|known| Arc::clone(&known.object)).collect(),
        }
    }

    /// Records that GetCapacity returned values at this time and that the key's object has them.
    pub(crate) fn record_answer(&mut self, key: &Key, at: Instant) {
        for uid in self.by_key.get(key).into_iter().flatten() {
            if let Some(known) = self.objects.get_mut(uid) {
                known.answered_at = at;
            }
        }
    }

    /// The age of the values of each object with a desired key.
    pub(crate) fn ages(&self, now: Instant) -> Vec<(Key, Duration)> {
        let first = |(key, uids): (&Key, &BTreeSet<String>)| {
            let known = uids.iter().find_map(|uid| self.objects.get(uid))?;
            Some((key.clone(), now.duration_since(known.answered_at)))
        };
        let wanted = self.by_key.iter().filter(|(key, _)| self.is_wanted(key));
        wanted.filter_map(first).collect()
    }

    /// Numbers of desired and existing objects.
    pub(crate) fn counts(&self) -> Counts {
        let current = self.by_key.keys().filter(|key| self.is_wanted(key)).count();
        Counts {
            goal: self.segments.len() * self.classes.len(),
            current,
            obsolete: self.objects.len() - current,
        }
    }

    /// Records that a create is in progress.
    pub(crate) fn begin_create(&mut self, key: &Key) {
        self.creating.insert(key.clone());
    }

    /// Records the end of a create, with the object if it succeeded. Returns whether the key now has duplicates.
    pub(crate) fn end_create(&mut self, key: &Key, created: Option<CSIStorageCapacity>) -> bool {
        self.creating.remove(key);
        if let Some(object) = created
            && let Some(uid) = object.metadata.uid.clone()
        {
            self.store(&uid, Arc::new(object), false);
        }
        self.by_key.get(key).is_some_and(|uids| uids.len() > 1)
    }

    /// Records a version of an object that this publisher wrote or got.
    pub(crate) fn wrote(&mut self, object: CSIStorageCapacity) {
        if let Some(uid) = object.metadata.uid.clone()
            && let Some(known) = self.objects.get_mut(&uid)
        {
            known.doubtful = false;
            self.store(&uid, Arc::new(object), false);
        }
    }

    /// Records that a deletion is in progress: the object counts as deleted.
    pub(crate) fn begin_delete(&mut self, uid: &str) {
        self.mark_deleting(uid, true);
    }

    /// Records that a deletion failed: the object exists again.
    pub(crate) fn undo_delete(&mut self, uid: &str) {
        self.mark_deleting(uid, false);
    }

    /// Removes an object that does not exist according to the server.
    pub(crate) fn forget_object(&mut self, uid: &str) {
        self.forget(uid);
    }

    fn mark_deleting(&mut self, uid: &str, deleting: bool) {
        if let Some(known) = self.objects.get_mut(uid) {
            known.deleting = deleting;
        }
    }

    /// Stores the newest version of an object. Returns whether the object was unknown.
    fn store(&mut self, uid: &str, object: Arc<CSIStorageCapacity>, confirmed: bool) -> bool {
        let key = Key::of(&object, self.form);
        self.store_as(uid, key, object, confirmed)
    }

    fn store_as(&mut self, uid: &str, key: Key, object: Arc<CSIStorageCapacity>, confirmed: bool) -> bool {
        if let Some(known) = self.objects.get_mut(uid) {
            known.confirmed |= confirmed;
            known.doubtful &= !confirmed;
            if !is_older(&object.metadata, &known.object.metadata) {
                known.object = object;
            }
            return false;
        }
        self.by_key.entry(key.clone()).or_default().insert(uid.to_owned());
        let known = Known {
            key,
            object,
            confirmed,
            doubtful: false,
            deleting: false,
            answered_at: Instant::now(),
        };
        self.objects.insert(uid.to_owned(), known);
        true
    }

    fn forget(&mut self, uid: &str) -> Option<Known> {
        let known = self.objects.remove(uid)?;
        if let Some(uids) = self.by_key.get_mut(&known.key) {
            uids.remove(uid);
            if uids.is_empty() {
                self.by_key.remove(&known.key);
            }
        }
        Some(known)
    }

    fn is_wanted(&self, key: &Key) -> bool {
        let Place::Segment(segment) = &key.place else {
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
        place: Place::Segment(Arc::clone(segment)),
    }
}

#[cfg(test)]
mod tests;
