//! What may change the answer for a key, as keys to look at: polls, classes, segments, objects, and volumes that came or went. Calls no driver
//! and writes nothing.

use std::sync::Arc;

use capacity_types::segment::{Segment, contains};
use k8s_openapi::api::storage::v1::{CSIStorageCapacity, StorageClass};
use kube::ResourceExt;
use tokio::time::sleep;

use super::{
    desired::{Key, is_publishable, parameters_for_driver},
    publish::Publisher,
};
use crate::{topology, watch::Change};

impl Publisher {
    /// Adds every wanted key to the queue in each interval, without end. Each interval is shortened at random, so that publishers that
    /// were started together do not call their drivers together for long.
    pub(crate) async fn poll(&self) {
        let interval = self.options.capacity_poll_interval;
        loop {
            let early = self.options.capacity_poll_jitter * self.options.chance.fraction();
            sleep(interval.mul_f64(1.0 - early)).await;
            let wanted = self.ledger.lock().wanted();
            wanted
                .into_iter()
                .for_each(|key| self.queue.add_unless_waiting(key));
        }
    }

    /// A class came, changed, or went.
    pub(crate) fn class_changed(&self, change: &Change<StorageClass>) {
        let (class, exists) = match change {
            Change::Set(class) => (class, true),
            Change::Gone(class) => (class, false),
            Change::Listed => return,
        };
        let wanted = exists
            && is_publishable(
                class,
                &self.by.driver,
                self.options.capacity_for_immediate_binding,
            );
        let parameters = wanted.then(|| Arc::new(parameters_for_driver(class)));
        let keys = self.ledger.lock().set_class(&class.name_any(), parameters);
        self.look_at(keys);
    }

    /// Segments came or went.
    pub(crate) fn segments_changed(&self, change: topology::Change) {
        let mut ledger = self.ledger.lock();
        let mut keys = change
            .added
            .map(|segment| ledger.add_segment(&segment))
            .unwrap_or_default();
        keys.extend(
            change
                .removed
                .map(|segment| ledger.remove_segment(&segment))
                .unwrap_or_default(),
        );
        drop(ledger);
        self.look_at(keys);
    }

    /// An object came, changed, or went.
    pub(crate) fn object_changed(&self, change: Change<CSIStorageCapacity>) {
        let mut ledger = self.ledger.lock();
        let keys: Vec<Key> = match change {
            Change::Set(object) if self.by.owns(&object) => ledger.seen(object).into_iter().collect(),
            Change::Set(object) | Change::Gone(object) => object
                .metadata
                .uid
                .as_deref()
                .and_then(|uid| ledger.gone(uid))
                .into_iter()
                .collect(),
            Change::Listed => ledger.listed(),
        };
        drop(ledger);
        self.look_at(keys);
    }

    /// Volumes came or went in these segments (none: anywhere), or could not be created for this class (`None`: any class): what is
    /// published of them may be wrong now. A term that is coarser or finer than a segment touches it too.
    pub(crate) fn refresh(&self, class: Option<&str>, terms: &[Segment]) {
        let touched = |segment: &Segment| {
            terms.is_empty()
                || terms
                    .iter()
                    .any(|term| contains(segment, term) || contains(term, segment))
        };
        let keys = self
            .ledger
            .lock()
            .wanted_where(|known| class.is_none_or(|class| class == known), touched);
        self.look_at(keys);
    }

    fn look_at(&self, keys: Vec<Key>) {
        keys.into_iter().for_each(|key| self.queue.add(key));
    }
}
