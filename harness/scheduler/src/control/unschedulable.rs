//! The unschedulable pods, indexed by blocker and by PVC, because a burst may leave thousands of pods unschedulable, and most changes may
//! help only few of these pods or none.
//!
//! [`super::hints`] decides which change may remove which blocker.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::cycle::Blocker;
use crate::objects::{ObjectKey, Pod};

/// Pods by UID.
type Pods = BTreeMap<String, Arc<Pod>>;

#[derive(Debug, Default)]
pub(super) struct Unschedulable {
    by_blocker: BTreeMap<Blocker, Pods>,
    by_claim: HashMap<ObjectKey, BTreeSet<String>>,
}

/// The pods with one blocker that a change may make schedulable.
pub(super) enum Requeue<'a> {
    NoPod,
    AllPods,
    /// The pods that use one of these PVCs.
    UsersOf(Vec<&'a ObjectKey>),
    Matching(Box<dyn Fn(&Pod) -> bool + 'a>),
}

impl Unschedulable {
    pub(super) fn insert(&mut self, pod: &Arc<Pod>, blockers: &BTreeSet<Blocker>) {
        for blocker in blockers {
            let pods = self.by_blocker.entry(blocker.clone()).or_default();
            pods.insert(pod.uid.clone(), Arc::clone(pod));
        }
        for volume in &pod.volumes {
            let users = self.by_claim.entry(volume.claim.clone()).or_default();
            users.insert(pod.uid.clone());
        }
    }

    pub(super) fn remove(&mut self, pod: &Pod, blockers: &BTreeSet<Blocker>) {
        for blocker in blockers {
            if let Some(pods) = self.by_blocker.get_mut(blocker) {
                pods.remove(&pod.uid);
                if pods.is_empty() {
                    self.by_blocker.remove(blocker);
                }
            }
        }
        for volume in &pod.volumes {
            if let Some(users) = self.by_claim.get_mut(&volume.claim) {
                users.remove(&pod.uid);
                if users.is_empty() {
                    self.by_claim.remove(&volume.claim);
                }
            }
        }
    }

    pub(super) fn uids_to_requeue<'a>(&self, hint: impl Fn(&Blocker) -> Requeue<'a>) -> BTreeSet<String> {
        let mut uids = BTreeSet::new();
        for (blocker, pods) in &self.by_blocker {
            match hint(blocker) {
                Requeue::NoPod => {}
                Requeue::AllPods => uids.extend(pods.keys().cloned()),
                Requeue::UsersOf(claims) => {
                    let users = claims
                        .iter()
                        .filter_map(|claim| self.by_claim.get(*claim))
                        .flatten();
                    uids.extend(users.filter(|uid| pods.contains_key(*uid)).cloned());
                }
                Requeue::Matching(matches) => {
                    let found = pods.iter().filter(|(_, pod)| matches(pod));
                    uids.extend(found.map(|(uid, _)| uid.clone()));
                }
            }
        }
        uids
    }
}
