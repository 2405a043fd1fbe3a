//! The bindings that are waiting for a change, indexed by the objects they wait for: a changed object notifies only the affected bindings,
//! of possibly thousands that run concurrently.
//!
//! Stores only object keys; [`super::bind`] checks whether the awaited change happened.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::cache::Change;
use crate::cycle::Feasible;
use crate::objects::{ObjectKey, Pod, Volume};

#[derive(Debug, Default)]
pub(super) struct BindWaits(Mutex<HashMap<AwaitedObject, Vec<Arc<Notify>>>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum AwaitedObject {
    Pod(ObjectKey),
    Node(ObjectKey),
    Claim(ObjectKey),
    Volume(ObjectKey),
}

/// Registers one binding until it is dropped.
pub(super) struct Registration<'a> {
    waits: &'a BindWaits,
    objects: Vec<AwaitedObject>,
    changed: Arc<Notify>,
}

impl BindWaits {
    /// Registers a binding for the objects in its decision. Later changes of these objects notify the binding.
    pub(super) fn register(&self, pod: &Pod, decision: &Feasible) -> Registration<'_> {
        let mut objects = vec![
            AwaitedObject::Pod(pod.key.clone()),
            AwaitedObject::Node(decision.node.key.clone()),
        ];
        for binding in &decision.plan.bindings {
            objects.push(AwaitedObject::Volume(binding.volume.key.clone()));
            objects.push(AwaitedObject::Claim(binding.claim.key.clone()));
        }
        let provisions = decision.plan.provisions.iter();
        objects.extend(provisions.map(|provision| AwaitedObject::Claim(provision.claim.key.clone())));
        let changed = Arc::new(Notify::new());
        let mut by_object = self.0.lock();
        for object in &objects {
            let waiting = by_object.entry(object.clone()).or_default();
            waiting.push(Arc::clone(&changed));
        }
        Registration {
            waits: self,
            objects,
            changed,
        }
    }

    pub(super) fn notify(&self, change: &Change) {
        match change {
            Change::Pod(delta) => {
                // A change does not rename an object, so either version gives its key.
                let pod = delta.new.as_ref().or(delta.old.as_ref());
                self.notify_waiting(pod.map(|pod| AwaitedObject::Pod(pod.key.clone())));
            }
            Change::Node(delta) => {
                let node = delta.new.as_ref().or(delta.old.as_ref());
                self.notify_waiting(node.map(|node| AwaitedObject::Node(node.key.clone())));
            }
            Change::Claim(delta) => {
                let claim = delta.new.as_ref().or(delta.old.as_ref());
                self.notify_waiting(claim.map(|claim| AwaitedObject::Claim(claim.key.clone())));
            }
            Change::Volume(delta) => {
                for volume in [&delta.old, &delta.new].into_iter().flatten() {
                    self.notify_waiting([AwaitedObject::Volume(volume.key.clone())]);
                    // The name of a volume that is being provisioned is unknown when the binding is registered, so the PVC in `claimRef` is
                    // used.
                    self.notify_waiting(claim_of(volume));
                }
            }
            Change::AssignedPodAdded
            | Change::AssignedPodRemoved
            | Change::Attachment(_)
            | Change::Namespace
            | Change::CsiNode(_)
            | Change::Class(_)
            | Change::Driver(_)
            | Change::Capacity(_) => {}
        }
    }

    fn notify_waiting(&self, objects: impl IntoIterator<Item = AwaitedObject>) {
        let by_object = self.0.lock();
        let waiting = objects.into_iter().filter_map(|object| by_object.get(&object));
        waiting.flatten().for_each(|changed| changed.notify_one());
    }
}

fn claim_of(volume: &Volume) -> Option<AwaitedObject> {
    let claim = volume.claim.as_ref()?;
    Some(AwaitedObject::Claim(claim.key.clone()))
}

impl Registration<'_> {
    /// Completes after the next change of a registered object, or at once if a registered object changed since the last call.
    pub(super) async fn wait_for_change(&self) {
        self.changed.notified().await;
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let mut by_object = self.waits.0.lock();
        for object in &self.objects {
            let Some(waiting) = by_object.get_mut(object) else {
                continue;
            };
            waiting.retain(|other| !Arc::ptr_eq(other, &self.changed));
            if waiting.is_empty() {
                by_object.remove(object);
            }
        }
    }
}
