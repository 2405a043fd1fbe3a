//! Which binding waits for which objects, so that a change notifies only the affected bindings: in a burst thousands wait at once.
//!
//! Knows only keys; [`super::bind`] checks whether the awaited change happened.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::cache::Change;
use crate::cycle::Feasible;
use crate::objects::{ObjectKey, Pod, Volume};

/// The bindings in progress.
#[derive(Debug, Default)]
pub(super) struct BindWaits(Mutex<HashMap<Subject, Vec<Arc<Notify>>>>);

/// An object that bindings wait for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Pod(ObjectKey),
    Node(ObjectKey),
    Claim(ObjectKey),
    Volume(ObjectKey),
}

/// The registration of one binding. Dropping it removes the registration.
pub(super) struct Waiting<'a> {
    waits: &'a BindWaits,
    subjects: Vec<Subject>,
    changed: Arc<Notify>,
}

impl BindWaits {
    /// Registers a binding. Later changes of the objects in the decision are not missed.
    pub(super) fn enter(&self, pod: &Pod, decision: &Feasible) -> Waiting<'_> {
        let mut subjects = vec![
            Subject::Pod(pod.key.clone()),
            Subject::Node(decision.node.key.clone()),
        ];
        for binding in &decision.plan.bindings {
            subjects.push(Subject::Volume(binding.volume.key.clone()));
            subjects.push(Subject::Claim(binding.claim.key.clone()));
        }
        let provisions = decision.plan.provisions.iter();
        subjects.extend(provisions.map(|provision| Subject::Claim(provision.claim.key.clone())));
        let changed = Arc::new(Notify::new());
        let mut by_subject = self.0.lock();
        for subject in &subjects {
            let waiting = by_subject.entry(subject.clone()).or_default();
            waiting.push(Arc::clone(&changed));
        }
        Waiting {
            waits: self,
            subjects,
            changed,
        }
    }

    /// Notifies the bindings that a change affects.
    pub(super) fn signal(&self, change: &Change) {
        match change {
            Change::Pod(delta) => {
                // Old and new have the same key.
                let pod = delta.new.as_ref().or(delta.old.as_ref());
                self.wake(pod.map(|pod| Subject::Pod(pod.key.clone())));
            }
            Change::Node(delta) => {
                let node = delta.new.as_ref().or(delta.old.as_ref());
                self.wake(node.map(|node| Subject::Node(node.key.clone())));
            }
            Change::Claim(delta) => {
                let claim = delta.new.as_ref().or(delta.old.as_ref());
                self.wake(claim.map(|claim| Subject::Claim(claim.key.clone())));
            }
            Change::Volume(delta) => {
                for volume in [&delta.old, &delta.new].into_iter().flatten() {
                    self.wake([Subject::Volume(volume.key.clone())]);
                    // The name of a volume yet to be provisioned is unknown, so look it up by PVC.
                    self.wake(claim_of(volume));
                }
            }
            Change::PodCame
            | Change::PodLeft
            | Change::Attachment(_)
            | Change::Namespace
            | Change::CsiNode(_)
            | Change::Class(_)
            | Change::Driver(_)
            | Change::Capacity(_) => {}
        }
    }

    fn wake(&self, subjects: impl IntoIterator<Item = Subject>) {
        let by_subject = self.0.lock();
        let waiting = subjects
            .into_iter()
            .filter_map(|subject| by_subject.get(&subject));
        waiting.flatten().for_each(|changed| changed.notify_one());
    }
}

fn claim_of(volume: &Volume) -> Option<Subject> {
    let claim = volume.claim.as_ref()?;
    Some(Subject::Claim(claim.key.clone()))
}

impl Waiting<'_> {
    /// Completes after the next change, or at once if one happened since the last call.
    pub(super) async fn change(&self) {
        self.changed.notified().await;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut by_subject = self.waits.0.lock();
        for subject in &self.subjects {
            let Some(waiting) = by_subject.get_mut(subject) else {
                continue;
            };
            waiting.retain(|other| !Arc::ptr_eq(other, &self.changed));
            if waiting.is_empty() {
                by_subject.remove(subject);
            }
        }
    }
}
