//! Maps events after which capacity may have changed to the affected keys, and adds these to the queue: polls, and changes of classes,
//! segments, objects and volumes. Does not call the driver, and writes nothing.

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
    /// Adds every desired key to the queue once per interval; does not return. Each interval is shortened by a random amount, so that
    /// publishers that were started together do not keep calling their drivers at the same time.
    pub(crate) async fn poll(&self) {
        let interval = self.options.capacity_poll_interval;
        loop {
            let early = self.options.capacity_poll_jitter * self.options.rng.fraction();
            sleep(interval.mul_f64(1.0 - early)).await;
            let desired = self.ledger.lock().desired_keys();
            desired
                .into_iter()
                .for_each(|key| self.queue.add_unless_waiting(key));
        }
    }

    pub(crate) fn class_changed(&self, change: &Change<StorageClass>) {
        let (class, exists) = match change {
            Change::Applied(class) => (class, true),
            Change::Deleted(class) => (class, false),
            Change::Listed => return,
        };
        let desired = exists
            && is_publishable(
                class,
                &self.by.driver,
                self.options.capacity_for_immediate_binding,
            );
        let parameters = desired.then(|| Arc::new(parameters_for_driver(class)));
        let keys = self.ledger.lock().set_class(&class.name_any(), parameters);
        self.enqueue(keys);
    }

    pub(crate) fn segments_changed(&self, change: topology::SegmentChange) {
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
        self.enqueue(keys);
    }

    pub(crate) fn object_changed(&self, change: Change<CSIStorageCapacity>) {
        let mut ledger = self.ledger.lock();
        let keys: Vec<Key> = match change {
            Change::Applied(object) if self.by.owns(&object) => ledger.observe(object).into_iter().collect(),
            Change::Applied(object) | Change::Deleted(object) => object
                .metadata
                .uid
                .as_deref()
                .and_then(|uid| ledger.observe_deletion(uid))
                .into_iter()
                .collect(),
            Change::Listed => ledger.list_completed(),
        };
        drop(ledger);
        self.enqueue(keys);
    }

    /// Refreshes the keys of a class (`None`: all classes) in the segments that contain one of `terms` or are contained in one (empty: all
    /// segments), because volumes were created or deleted there, or could not be created.
    pub(crate) fn refresh(&self, class: Option<&str>, terms: &[Segment]) {
        let overlaps = |segment: &Segment| {
            terms.is_empty()
                || terms
                    .iter()
                    .any(|term| contains(segment, term) || contains(term, segment))
        };
        let keys = self
            .ledger
            .lock()
            .desired_keys_where(|known| class.is_none_or(|class| class == known), overlaps);
        self.enqueue(keys);
    }

    fn enqueue(&self, keys: Vec<Key>) {
        keys.into_iter().for_each(|key| self.queue.add(key));
    }
}
