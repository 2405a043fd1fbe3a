//! The pods that await a node: which is next, which is kept back, and what the others wait for.
//!
//! Its callers pass the time in; it knows neither cluster nor wire. A pod has at most one job (an attempt's report, or its
//! binding) under way; it is not attempted again before that job is done, so its reports stay in order.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::report::Reported;
use super::unschedulable::{Helped, Unschedulable};
use crate::cycle::Blocker;
use crate::metrics::Pending;
use crate::objects::Pod;

/// The times that govern retries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    /// After the first failed attempt; doubles with each further one.
    pub(super) initial_backoff: Duration,
    /// The longest back-off.
    pub(super) max_backoff: Duration,
    /// How long an unschedulable pod waits at most.
    pub(super) flush: Duration,
}

/// The queue. Pods are known by their UID, so a pod created anew is a new one.
#[derive(Debug)]
pub(super) struct Queue {
    delays: Delays,
    entries: HashMap<String, Entry>,
    /// Pods that can be attempted now: higher priority first, then the order in which they became ready.
    ready: BTreeSet<(Reverse<i32>, u64, String)>,
    /// Pods to be made ready at a time.
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
    /// A report or binding is under way.
    has_job: bool,
    reported: Reported,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    /// To be attempted as soon as no job is under way.
    Ready(u64),
    /// Kept back until this time.
    BackingOff(Instant),
    /// Unschedulable until something helps.
    Waiting {
        blockers: BTreeSet<Blocker>,
        /// Not to be attempted before.
        earliest: Instant,
        /// To be attempted then at the latest.
        flush: Instant,
    },
    /// A node is decided, or an attempt is being made.
    Placed,
}

impl State {
    /// The number that a pod in this state belongs to; none: it waits no more.
    fn part_of<'p>(&self, pending: &'p mut Pending) -> Option<&'p mut usize> {
        match self {
            State::Ready(_) => Some(&mut pending.active),
            State::BackingOff(_) => Some(&mut pending.backoff),
            State::Waiting { .. } => Some(&mut pending.unschedulable),
            State::Placed => None,
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

    /// Adds a pod, ready to be attempted, or replaces what is known about it.
    pub(super) fn put(&mut self, pod: Arc<Pod>) {
        if let Some(entry) = self.entries.get_mut(&pod.uid) {
            if let State::Waiting { blockers, .. } = &entry.state {
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
            state: State::Placed,
            has_job: false,
            reported: Reported::default(),
        };
        self.entries.insert(uid.clone(), entry);
        self.make_ready(&uid);
    }

    /// Drops a pod. A job under way is left to notice by itself.
    pub(super) fn remove(&mut self, uid: &str) {
        self.enter(uid, State::Placed);
        self.entries.remove(uid);
    }

    /// Takes the next pod for an attempt, with what was last reported about it. It has a job until [`Self::job_done`].
    pub(super) fn pop(&mut self) -> Option<(Arc<Pod>, Reported)> {
        let (_, _, uid) = self.ready.pop_first()?;
        let entry = self.entries.get_mut(&uid)?;
        if let Some(number) = entry.state.part_of(&mut self.pending) {
            *number -= 1;
        }
        entry.state = State::Placed;
        entry.attempts = entry.attempts.saturating_add(1);
        entry.has_job = true;
        Some((Arc::clone(&entry.pod), entry.reported.clone()))
    }

    /// How many pods wait in which part of the queue.
    pub(super) fn pending(&self) -> Pending {
        self.pending
    }

    /// How often a pod was attempted.
    pub(super) fn attempts(&self, uid: &str) -> u32 {
        self.entries.get(uid).map_or(0, |entry| entry.attempts)
    }

    /// Whether a pod can be attempted now.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The pod has to wait for something that helps against `blockers`.
    pub(super) fn wait(&mut self, uid: &str, blockers: BTreeSet<Blocker>, now: Instant) {
        let earliest = now + self.backoff(uid);
        let flush = now + self.delays.flush;
        self.enter(
            uid,
            State::Waiting {
                blockers,
                earliest,
                flush,
            },
        );
    }

    /// The pod is to be attempted again after its back-off.
    pub(super) fn back_off(&mut self, uid: &str, now: Instant) {
        let until = now + self.backoff(uid);
        self.enter(uid, State::BackingOff(until));
    }

    /// The pod's job is done, with this as its last report.
    pub(super) fn job_done(&mut self, uid: &str, reported: Reported) {
        let Some(entry) = self.entries.get_mut(uid) else {
            return;
        };
        entry.has_job = false;
        entry.reported = reported;
        let state = entry.state.clone();
        self.enter(uid, state);
    }

    /// Makes the waiting pods that a change may help ready, or backs them off until they may be attempted.
    pub(super) fn wake<'a>(&mut self, now: Instant, helped: impl Fn(&Blocker) -> Helped<'a>) {
        let uids = self.unschedulable.helped(helped).into_iter();
        let woken = uids.filter_map(|uid| match self.entries.get(&uid)?.state {
            State::Waiting { earliest, .. } => Some((earliest, uid)),
            _ => None,
        });
        let mut woken: Vec<_> = woken.collect();
        // The pod that has waited longest goes first.
        woken.sort();
        for (earliest, uid) in woken {
            if earliest > now {
                self.enter(&uid, State::BackingOff(earliest));
            } else {
                self.make_ready(&uid);
            }
        }
    }

    /// Makes the pods ready whose time has come.
    pub(super) fn tick(&mut self, now: Instant) {
        while let Some((due, uid)) = self.timers.first().cloned() {
            if due > now {
                return;
            }
            self.make_ready(&uid);
        }
    }

    /// When the next pod's time comes.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(due, _)| *due)
    }

    fn make_ready(&mut self, uid: &str) {
        self.sequence += 1;
        self.enter(uid, State::Ready(self.sequence));
    }

    /// Changes a pod's state and keeps both orders in step with it.
    fn enter(&mut self, uid: &str, state: State) {
        let Some(entry) = self.entries.get_mut(uid) else {
            return;
        };
        match &entry.state {
            State::Ready(sequence) => {
                self.ready
                    .remove(&(Reverse(entry.pod.priority), *sequence, uid.to_owned()));
            }
            State::BackingOff(at) | State::Waiting { flush: at, .. } => {
                self.timers.remove(&(*at, uid.to_owned()));
            }
            State::Placed => {}
        }
        if let State::Waiting { blockers, .. } = &entry.state {
            self.unschedulable.remove(&entry.pod, blockers);
        }
        if let State::Waiting { blockers, .. } = &state {
            self.unschedulable.insert(&entry.pod, blockers);
        }
        match &state {
            State::Ready(sequence) if !entry.has_job => {
                self.ready
                    .insert((Reverse(entry.pod.priority), *sequence, uid.to_owned()));
            }
            State::BackingOff(at) | State::Waiting { flush: at, .. } => {
                self.timers.insert((*at, uid.to_owned()));
            }
            State::Ready(_) | State::Placed => {}
        }
        if let Some(number) = entry.state.part_of(&mut self.pending) {
            *number -= 1;
        }
        if let Some(number) = state.part_of(&mut self.pending) {
            *number += 1;
        }
        entry.state = state;
    }

    /// Doubles with every attempt, up to the bound.
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

    fn volumes() -> BTreeSet<Blocker> {
        [Blocker::Volumes].into()
    }

    fn against_volumes(blocker: &Blocker) -> Helped<'static> {
        match blocker {
            Blocker::Volumes => Helped::Everybody,
            _ => Helped::Nobody,
        }
    }

    #[test]
    fn priority_goes_before_age() {
        let mut queue = queue();
        for (name, priority) in [("old", 0), ("new", 0), ("urgent", 7)] {
            queue.put(pod(name, priority));
        }
        let order: Vec<_> = std::iter::from_fn(|| attempt(&mut queue)).collect();
        assert_eq!(order, ["urgent", "old", "new"]);
    }

    #[test]
    fn backoff_doubles_up_to_its_bound() {
        let mut queue = queue();
        queue.put(pod("p", 0));
        let mut now = Instant::now();
        for expected in [1, 2, 4, 8, 10, 10] {
            assert!(attempt(&mut queue).is_some());
            queue.back_off("p", now);
            assert_eq!(queue.next_deadline(), Some(now + expected * SECOND));
            now += expected * SECOND;
            queue.tick(now);
        }
    }

    #[test]
    fn a_woken_pod_still_backs_off() {
        let mut queue = queue();
        queue.put(pod("p", 0));
        let now = Instant::now();
        attempt(&mut queue);
        queue.wait("p", volumes(), now);
        queue.wake(now, |_| Helped::Nobody);
        assert_eq!(
            queue.next_deadline(),
            Some(now + 300 * SECOND),
            "it waits for the flush"
        );
        queue.wake(now, against_volumes);
        assert_eq!(queue.next_deadline(), Some(now + SECOND));
        queue.tick(now + SECOND);
        assert!(queue.has_ready());

        attempt(&mut queue);
        queue.wait("p", volumes(), now);
        queue.wake(now + 2 * SECOND, |_| Helped::Everybody);
        assert!(queue.has_ready(), "its back-off is over");
    }

    #[test]
    fn nothing_happening_flushes_after_the_given_time() {
        let mut queue = queue();
        queue.put(pod("p", 0));
        let now = Instant::now();
        attempt(&mut queue);
        queue.wait("p", volumes(), now);
        queue.tick(now + 299 * SECOND);
        assert!(!queue.has_ready());
        queue.tick(now + 300 * SECOND);
        assert!(queue.has_ready());
    }

    #[test]
    fn a_pod_woken_during_its_job_is_attempted_after_it() {
        let mut queue = queue();
        queue.put(pod("p", 0));
        let now = Instant::now();
        let (_, reported) = queue.pop().unwrap();
        queue.wait("p", volumes(), now);
        queue.wake(now + 2 * SECOND, |_| Helped::Everybody);
        assert!(!queue.has_ready(), "the report is not written yet");
        queue.job_done("p", reported);
        assert!(queue.has_ready(), "the wake-up was not lost");
    }

    #[test]
    fn each_pod_is_counted_where_it_waits() {
        let mut queue = queue();
        let now = Instant::now();
        for name in ["waiting", "backing-off", "ready", "attempted"] {
            queue.put(pod(name, i32::from(name != "ready")));
        }
        for _ in 0..3 {
            queue.pop().unwrap();
        }
        queue.wait("waiting", volumes(), now);
        queue.back_off("backing-off", now);
        let pending = |active, backoff, unschedulable| Pending {
            active,
            backoff,
            unschedulable,
        };
        assert_eq!(queue.pending(), pending(1, 1, 1));
        queue.tick(now + SECOND);
        assert_eq!(queue.pending(), pending(2, 0, 1));
        queue.remove("waiting");
        queue.remove("attempted");
        assert_eq!(queue.pending(), pending(2, 0, 0));
        assert_eq!((queue.attempts("ready"), queue.attempts("backing-off")), (0, 1));
    }

    #[test]
    fn a_removed_pod_leaves_nothing_behind() {
        let mut queue = queue();
        queue.put(pod("waiting", 0));
        let (_, reported) = queue.pop().unwrap();
        queue.wait("waiting", volumes(), Instant::now());
        queue.put(pod("ready", 0));
        for name in ["waiting", "ready"] {
            queue.remove(name);
        }
        queue.job_done("waiting", reported);
        assert!(!queue.has_ready() && queue.next_deadline().is_none());
    }
}
