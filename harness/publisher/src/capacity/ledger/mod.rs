//! What is known about wanted and existing objects, and which keys need a look after each change. Makes no requests; uses the clock only to
//! note when an object was found.
//!
//! Objects come from the watch and from our own writes, in any order. A create that is still under way, and deletions of our own, are
//! remembered, so that their watch events cause no work.

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

/// The wanted keys and the existing objects of the publisher.
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
    /// Seen by the watch, not only in the answer to our own create.
    confirmed: bool,
    /// A list of all objects did not have it, though no watch event said that it is gone.
    doubtful: bool,
    /// We are deleting it.
    deleting: bool,
    /// When the driver last answered with the values that it has; when it was found, if never.
    answered_at: Instant,
}

/// How many objects there are, and should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Wanted keys.
    pub(crate) goal: usize,
    /// Wanted keys that have an object.
    pub(crate) current: usize,
    /// Objects that are to be deleted.
    pub(crate) obsolete: usize,
}

/// What holds for one key now.
#[derive(Debug, PartialEq)]
pub(crate) struct View {
    /// Parameters of the class; `None` if the key is not wanted.
    pub(crate) wanted: Option<Parameters>,
    /// Existing objects, the one to keep first.
    pub(crate) objects: Vec<Arc<CSIStorageCapacity>>,
    /// Whether the first object may no longer exist.
    pub(crate) doubtful: bool,
}

impl Ledger {
    /// An empty ledger of a publisher that writes selectors in this form.
    pub(crate) fn new(form: SelectorForm) -> Ledger {
        Ledger {
            form,
            ..Ledger::default()
        }
    }

    /// A class is to be published with these parameters, or no more (`None`). The keys that this concerns.
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

    /// A segment came. The keys that this concerns.
    pub(crate) fn add_segment(&mut self, segment: &Segment) -> Vec<Key> {
        let segment = Arc::new(segment.clone());
        let new = self.segments.insert(Arc::clone(&segment));
        self.keys_in(&segment).filter(|_| new).collect()
    }

    /// A segment went. The keys that this concerns.
    pub(crate) fn remove_segment(&mut self, segment: &Segment) -> Vec<Key> {
        match self.segments.take(segment) {
            Some(segment) => self.keys_in(&segment).collect(),
            None => Vec::new(),
        }
    }

    /// All wanted keys.
    pub(crate) fn wanted(&self) -> Vec<Key> {
        self.segments
            .iter()
            .flat_map(|segment| self.keys_in(segment))
            .collect()
    }

    /// The wanted keys whose class and segment meet these conditions.
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

    /// The watch delivered an object. The key that needs a look because of that.
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

    /// The watch delivered a deletion. The key that needs a look because of that.
    pub(crate) fn gone(&mut self, uid: &str) -> Option<Key> {
        let known = self.forget(uid)?;
        (!known.deleting && self.is_wanted(&known.key)).then_some(known.key)
    }

    /// The watch started over and listed all objects: those that are known only from our own writes may be gone. Their keys. Of one that we
    /// have deleted besides, no event will tell that it is gone.
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

    /// What holds for a key.
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

    /// The driver answered for a key at this time, and its object has the values of the answer.
    pub(crate) fn record_answer(&mut self, key: &Key, at: Instant) {
        for uid in self.by_key.get(key).into_iter().flatten() {
            if let Some(known) = self.objects.get_mut(uid) {
                known.answered_at = at;
            }
        }
    }

    /// The age of the values of each object of a wanted key.
    pub(crate) fn ages(&self, now: Instant) -> Vec<(Key, Duration)> {
        let first = |(key, uids): (&Key, &BTreeSet<String>)| {
            let known = uids.iter().find_map(|uid| self.objects.get(uid))?;
            Some((key.clone(), now.duration_since(known.answered_at)))
        };
        let wanted = self.by_key.iter().filter(|(key, _)| self.is_wanted(key));
        wanted.filter_map(first).collect()
    }

    /// How many objects there are, and should be.
    pub(crate) fn counts(&self) -> Counts {
        let current = self.by_key.keys().filter(|key| self.is_wanted(key)).count();
        Counts {
            goal: self.segments.len() * self.classes.len(),
            current,
            obsolete: self.objects.len() - current,
        }
    }

    /// We are about to create an object.
    pub(crate) fn begin_create(&mut self, key: &Key) {
        self.creating.insert(key.clone());
    }

    /// The create ended, with the object if it succeeded. Whether there is now more than one.
    pub(crate) fn end_create(&mut self, key: &Key, created: Option<CSIStorageCapacity>) -> bool {
        self.creating.remove(key);
        if let Some(object) = created
            && let Some(uid) = object.metadata.uid.clone()
        {
            self.store(&uid, Arc::new(object), false);
        }
        self.by_key.get(key).is_some_and(|uids| uids.len() > 1)
    }

    /// We wrote this version of an object, or read it.
    pub(crate) fn wrote(&mut self, object: CSIStorageCapacity) {
        if let Some(uid) = object.metadata.uid.clone()
            && let Some(known) = self.objects.get_mut(&uid)
        {
            known.doubtful = false;
            self.store(&uid, Arc::new(object), false);
        }
    }

    /// We are about to delete an object: it counts as gone from now on.
    pub(crate) fn begin_delete(&mut self, uid: &str) {
        self.mark_deleting(uid, true);
    }

    /// The deletion failed: the object counts again.
    pub(crate) fn undo_delete(&mut self, uid: &str) {
        self.mark_deleting(uid, false);
    }

    /// The object is not there any more, as the server answered us.
    pub(crate) fn forget_object(&mut self, uid: &str) {
        self.forget(uid);
    }

    fn mark_deleting(&mut self, uid: &str, deleting: bool) {
        if let Some(known) = self.objects.get_mut(uid) {
            known.deleting = deleting;
        }
    }

    /// Keeps the newest version of an object; whether it was unknown.
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
