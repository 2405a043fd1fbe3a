//! The scheduling queue: ready pods, pods in backoff, and unschedulable pods with their blockers.
//!
//! Callers pass the current time. A pod has at most one job: writing the report of an attempt, or binding. The pod is not attempted again
//! before the job has ended, so that its reports stay in order.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::report::LastReport;
use super::unschedulable::{Requeue, Unschedulable};
use crate::cycle::Blocker;
use crate::metrics::Pending;
use crate::objects::Pod;

/// The delays between the scheduling attempts of a pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    /// Backoff after the first failed attempt; doubles with each further failed attempt.
    pub(super) initial_backoff: Duration,
    pub(super) max_backoff: Duration,
    /// Time after which an unschedulable pod is retried even if the cluster did not change (`unschedulable_flush`).
    pub(super) flush: Duration,
}

/// The scheduling queue. Pods are identified by UID, so a recreated pod is a different pod.
#[derive(Debug)]
pub(super) struct Queue {
    delays: Delays,
    entries: HashMap<String, Entry>,
    /// Pods to attempt now: by descending priority, then in the order in which they became ready.
    ready: BTreeSet<(Reverse<i32>, u64, String)>,
    /// The times at which pods in backoff and unschedulable pods become ready even if the cluster does not change.
    timers: BTreeSet<(Instant, String)>,
    unschedulable: Unschedulable,
    sequence: u64,
    pending: Pending,
}

#[derive(Debug)]
struct Entry {
    pod: Arc<Pod>,
    attempts: u32,
    state: State,
    /// Whether a job of the pod is in progress: writing the report of an attempt, or binding the pod.
    has_job: bool,
    reported: LastReport,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    /// The pod is ready for an attempt, once none of its jobs is in progress.
    Ready(u64),
    /// The pod is in backoff until this time.
    BackingOff(Instant),
    /// Unschedulable until a change may help, or until the flush (`unschedulable_flush`).
    Unschedulable {
        blockers: BTreeSet<Blocker>,
        /// End of the backoff; the pod is not requeued before this time.
        earliest: Instant,
        /// Time at which the pod is retried even if the cluster did not change.
        flush: Instant,
    },
    /// A scheduling attempt for the pod is in progress, or the pod is assumed on a node.
    InFlight,
}

impl State {
    /// The counter for pods in this queue state. `None` if the pod is not pending.
    fn counter_in<'p>(&self, pending: &'p mut Pending) -> Option<&'p mut usize> {
        match self {
            State::Ready(_) => Some(&mut pending.active),
            State::BackingOff(_) => Some(&mut pending.backoff),
            State::Unschedulable { .. } => Some(&mut pending.unschedulable),
            State::InFlight => None,
        }
    }
}

impl Queue {
    pub(super) fn new(delays: Delays) -> Self {
        Self {
            delays,
            entries: HashMap::new(),
            ready: BTreeSet::new(),
            timers: BTreeSet::new(),
            unschedulable: Unschedulable::default(),
            sequence: 0,
            pending: Pending::default(),
        }
    }

    /// Adds a pod as ready, or updates a pod that is already queued.
    pub(super) fn add_or_update(&mut self, pod: Arc<Pod>) {
        if let Some(entry) = self.entries.get_mut(&pod.uid) {
            if let State::Unschedulable { blockers, .. } = &entry.state {
                self.unschedulable.remove(&entry.pod, blockers);
                self.unschedulable.insert(&pod, blockers);
            }
            entry.pod = pod;
            return;
        }
        let uid = pod.uid.clone();
        let entry = Entry {
            pod,
            attempts: 0,
            state: State::InFlight,
            has_job: false,
            reported: LastReport::default(),
        };
        self.entries.insert(uid.clone(), entry);
        self.make_ready(&uid);
    }

    /// Removes a pod from the queue. A job in progress, which writes the pod's report or binds the pod, detects the removal.
    pub(super) fn remove(&mut self, uid: &str) {
        self.set_state(uid, State::InFlight);
        self.entries.remove(uid);
    }

    /// Removes the next ready pod for an attempt, and returns it with its last report. The pod has a job until [`Self::job_done`].
    pub(super) fn pop(&mut self) -> Option<(Arc<Pod>, LastReport)> {
        let (_, _, uid) = self.ready.pop_first()?;
        let entry = self.entries.get_mut(&uid)?;
        if let Some(count) = entry.state.counter_in(&mut self.pending) {
            *count -= 1;
        }
        entry.state = State::InFlight;
        entry.attempts = entry.attempts.saturating_add(1);
        entry.has_job = true;
        Some((Arc::clone(&entry.pod), entry.reported.clone()))
    }

    pub(super) fn pending(&self) -> Pending {
        self.pending
    }

    pub(super) fn attempts(&self, uid: &str) -> u32 {
        self.entries.get(uid).map_or(0, |entry| entry.attempts)
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Makes the pod unschedulable until a change may remove one of `blockers`.
    pub(super) fn add_unschedulable(&mut self, uid: &str, blockers: BTreeSet<Blocker>, now: Instant) {
        let earliest = now + self.backoff(uid);
        let flush = now + self.delays.flush;
        self.set_state(
            uid,
            State::Unschedulable {
                blockers,
                earliest,
                flush,
            },
        );
    }

    pub(super) fn back_off(&mut self, uid: &str, now: Instant) {
        let until = now + self.backoff(uid);
        self.set_state(uid, State::BackingOff(until));
    }

    pub(super) fn job_done(&mut self, uid: &str, reported: LastReport) {
        let Some(entry) = self.entries.get_mut(uid) else {
            return;
        };
        entry.has_job = false;
        entry.reported = reported;
        let state = entry.state.clone();
        self.set_state(uid, state);
    }

    /// Requeues the unschedulable pods that a change may help: as ready, or in backoff until their backoff ends.
    pub(super) fn requeue<'a>(&mut self, now: Instant, hint: impl Fn(&Blocker) -> Requeue<'a>) {
        let uids = self.unschedulable.uids_to_requeue(hint).into_iter();
        let requeued = uids.filter_map(|uid| match self.entries.get(&uid)?.state {
            State::Unschedulable { earliest, .. } => Some((earliest, uid)),
            _ => None,
        });
        let mut requeued: Vec<_> = requeued.collect();
        // The pods that have waited longest come first.
        requeued.sort();
        for (earliest, uid) in requeued {
            if earliest > now {
                self.set_state(&uid, State::BackingOff(earliest));
            } else {
                self.make_ready(&uid);
            }
        }
    }

    /// Makes the pods ready whose backoff has ended or whose flush time has passed.
    pub(super) fn make_due_pods_ready(&mut self, now: Instant) {
        while let Some((due, uid)) = self.timers.first().cloned() {
            if due > now {
                return;
            }
            self.make_ready(&uid);
        }
    }

    /// The earliest time at which a backoff ends or an unschedulable pod is retried.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(due, _)| *due)
    }

    fn make_ready(&mut self, uid: &str) {
        self.sequence += 1;
        self.set_state(uid, State::Ready(self.sequence));
    }

    /// Changes a pod's state and updates the sorted sets and counters.
    fn set_state(&mut self, uid: &str, state: State) {
        let Some(entry) = self.entries.get_mut(uid) else {
            return;
        };
        match &entry.state {
            State::Ready(sequence) => {
                self.ready
                    .remove(&(Reverse(entry.pod.priority), *sequence, uid.to_owned()));
            }
            State::BackingOff(at) | State::Unschedulable { flush: at, .. } => {
                self.timers.remove(&(*at, uid.to_owned()));
            }
            State::InFlight => {}
        }
        if let State::Unschedulable { blockers, .. } = &entry.state {
            self.unschedulable.remove(&entry.pod, blockers);
        }
        if let State::Unschedulable { blockers, .. } = &state {
            self.unschedulable.insert(&entry.pod, blockers);
        }
        match &state {
            State::Ready(sequence) if !entry.has_job => {
                self.ready
                    .insert((Reverse(entry.pod.priority), *sequence, uid.to_owned()));
            }
            State::BackingOff(at) | State::Unschedulable { flush: at, .. } => {
                self.timers.insert((*at, uid.to_owned()));
            }
            State::Ready(_) | State::InFlight => {}
        }
        if let Some(count) = entry.state.counter_in(&mut self.pending) {
            *count -= 1;
        }
        if let Some(count) = state.counter_in(&mut self.pending) {
            *count += 1;
        }
        entry.state = state;
    }

    /// The backoff of a pod: doubles with every attempt, up to the maximum.
    fn backoff(&self, uid: &str) -> Duration {
        let doublings = self.attempts(uid).saturating_sub(1).min(31);
        let backoff = self.delays.initial_backoff.saturating_mul(1 << doublings);
        backoff.min(self.delays.max_backoff)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects::Object;

    const SECOND: Duration = Duration::from_secs(1);

    fn pod(name: &str, priority: i32) -> Arc<Pod> {
        let source = json!({"metadata": {"name": name, "uid": name}, "spec": {"containers": [], "priority": priority}});
        Arc::new(Pod::read(&serde_json::from_value(source).unwrap()).unwrap())
    }

    fn queue() -> Queue {
        Queue::new(Delays {
            initial_backoff: SECOND,
            max_backoff: 10 * SECOND,
            flush: 300 * SECOND,
        })
    }

    fn attempt(queue: &mut Queue) -> Option<String> {
        let (pod, reported) = queue.pop()?;
        queue.job_done(&pod.uid, reported);
        Some(pod.uid.clone())
    }

    fn volume_blockers() -> BTreeSet<Blocker> {
        [Blocker::Volumes].into()
    }

    fn hint_for_volumes(blocker: &Blocker) -> Requeue<'static> {
        match blocker {
            Blocker::Volumes => Requeue::AllPods,
            _ => Requeue::NoPod,
        }
    }

    #[test]
    fn pods_are_popped_by_priority_then_by_age() {
        let mut queue = queue();
        for (name, priority) in [("old", 0), ("new", 0), ("urgent", 7)] {
            queue.add_or_update(pod(name, priority));
        }
        let order: Vec<_> = std::iter::from_fn(|| attempt(&mut queue)).collect();
        assert_eq!(order, ["urgent", "old", "new"]);
    }

    #[test]
    fn backoff_doubles_up_to_the_maximum() {
        let mut queue = queue();
        queue.add_or_update(pod("p", 0));
        let mut now = Instant::now();
        for expected in [1, 2, 4, 8, 10, 10] {
            assert!(attempt(&mut queue).is_some());
            queue.back_off("p", now);
            assert_eq!(queue.next_deadline(), Some(now + expected * SECOND));
            now += expected * SECOND;
            queue.make_due_pods_ready(now);
        }
    }

    #[test]
    fn a_requeued_pod_completes_its_backoff() {
        let mut queue = queue();
        queue.add_or_update(pod("p", 0));
        let now = Instant::now();
        attempt(&mut queue);
        queue.add_unschedulable("p", volume_blockers(), now);
        queue.requeue(now, |_| Requeue::NoPod);
        assert_eq!(
            queue.next_deadline(),
            Some(now + 300 * SECOND),
            "the pod waits for the flush"
        );
        queue.requeue(now, hint_for_volumes);
        assert_eq!(queue.next_deadline(), Some(now + SECOND));
        queue.make_due_pods_ready(now + SECOND);
        assert!(queue.has_ready());

        attempt(&mut queue);
        queue.add_unschedulable("p", volume_blockers(), now);
        queue.requeue(now + 2 * SECOND, |_| Requeue::AllPods);
        assert!(queue.has_ready(), "the backoff is over");
    }

    #[test]
    fn unschedulable_pods_are_flushed_without_events() {
        let mut queue = queue();
        queue.add_or_update(pod("p", 0));
        let now = Instant::now();
        attempt(&mut queue);
        queue.add_unschedulable("p", volume_blockers(), now);
        queue.make_due_pods_ready(now + 299 * SECOND);
        assert!(!queue.has_ready());
        queue.make_due_pods_ready(now + 300 * SECOND);
        assert!(queue.has_ready());
    }

    #[test]
    fn a_pod_requeued_during_its_job_is_attempted_after_the_job() {
        let mut queue = queue();
        queue.add_or_update(pod("p", 0));
        let now = Instant::now();
        let (_, reported) = queue.pop().unwrap();
        queue.add_unschedulable("p", volume_blockers(), now);
        queue.requeue(now + 2 * SECOND, |_| Requeue::AllPods);
        assert!(!queue.has_ready(), "the report is not written yet");
        queue.job_done("p", reported);
        assert!(queue.has_ready(), "the requeue was not lost");
    }

    #[test]
    fn pending_counts_match_the_state_of_each_pod() {
        let mut queue = queue();
        let now = Instant::now();
        for name in ["waiting", "backing-off", "ready", "attempted"] {
            queue.add_or_update(pod(name, i32::from(name != "ready")));
        }
        for _ in 0..3 {
            queue.pop().unwrap();
        }
        queue.add_unschedulable("waiting", volume_blockers(), now);
        queue.back_off("backing-off", now);
        let pending = |active, backoff, unschedulable| Pending {
            active,
            backoff,
            unschedulable,
        };
        assert_eq!(queue.pending(), pending(1, 1, 1));
        queue.make_due_pods_ready(now + SECOND);
        assert_eq!(queue.pending(), pending(2, 0, 1));
        queue.remove("waiting");
        queue.remove("attempted");
        assert_eq!(queue.pending(), pending(2, 0, 0));
        assert_eq!((queue.attempts("ready"), queue.attempts("backing-off")), (0, 1));
    }

    #[test]
    fn a_removed_pod_leaves_no_queue_entry() {
        let mut queue = queue();
        queue.add_or_update(pod("waiting", 0));
        let (_, reported) = queue.pop().unwrap();
        queue.add_unschedulable("waiting", volume_blockers(), Instant::now());
        queue.add_or_update(pod("ready", 0));
        for name in ["waiting", "ready"] {
            queue.remove(name);
        }
        queue.job_done("waiting", reported);
        assert!(!queue.has_ready() && queue.next_deadline().is_none());
    }
}
