//! A workqueue with one entry per key: only one worker at a time processes a key, and failed keys back off exponentially.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    hash::Hash,
    time::Duration,
};

use capacity_client::ExponentialBackoff;
use futures::{Stream, stream};
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::metrics::QueueMetrics;

/// The workqueue. A worker must report to the queue whether the processing of a key succeeded or failed.
pub(crate) struct Queue<K> {
    backoff: ExponentialBackoff,
    inner: Mutex<Inner<K>>,
    changed: Notify,
}

struct Inner<K> {
    metrics: QueueMetrics,
    entries: HashMap<K, Entry>,
    ready: VecDeque<K>,
    waiting: BTreeSet<(Instant, K)>,
}

#[derive(Debug)]
struct Entry {
    state: State,
    failures: u32,
    /// While the key is ready: when it became ready. While a worker processes the key: when the worker started.
    since: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Ready,
    /// A worker processes the key. `again`: the key was added during processing and becomes ready afterwards. `later`: the key was added
    /// for this later time.
    Processing {
        again: bool,
        later: Option<Instant>,
    },
    /// The key is in backoff, or was added for a later time.
    Waiting(Instant),
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    pub(crate) fn new(backoff: ExponentialBackoff, metrics: QueueMetrics) -> Queue<K> {
        let inner = Inner {
            metrics,
            entries: HashMap::new(),
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
        };
        Queue {
            backoff,
            inner: Mutex::new(inner),
            changed: Notify::new(),
        }
    }

    /// Adds a key because its object changed. The key is ready at once, even if it is in backoff.
    pub(crate) fn add(&self, key: K) {
        let mut inner = self.inner.lock();
        let waiting = match inner.entries.get_mut(&key) {
            None => None,
            Some(Entry {
                state: State::Waiting(until),
                ..
            }) => Some(*until),
            Some(Entry {
                state: State::Processing { again, .. },
                ..
            }) => {
                *again = true;
                return;
            }
            Some(Entry {
                state: State::Ready, ..
            }) => return,
        };
        if let Some(until) = waiting {
            inner.waiting.remove(&(until, key.clone()));
        }
        inner.make_ready(key);
        drop(inner);
        self.changed.notify_one();
    }

    /// Adds a key for periodic work. The key is ready at once, unless it is in backoff.
    pub(crate) fn add_unless_waiting(&self, key: K) {
        let waits = matches!(
            self.inner.lock().entries.get(&key),
            Some(Entry {
                state: State::Waiting(_),
                ..
            })
        );
        if !waits {
            self.add(key);
        }
    }

    /// Adds a key that becomes ready at `at`. Has no effect on a waiting or ready key. A key that a worker processes becomes ready at `at`
    /// after its processing has ended.
    pub(crate) fn add_at(&self, key: K, at: Instant) {
        let mut inner = self.inner.lock();
        if let Some(entry) = inner.entries.get_mut(&key) {
            if let State::Processing { later, .. } = &mut entry.state {
                *later = Some(at);
            }
            return;
        }
        let entry = Entry {
            state: State::Waiting(at),
            failures: 0,
            since: Instant::now(),
        };
        inner.entries.insert(key.clone(), entry);
        inner.waiting.insert((at, key));
        drop(inner);
        self.changed.notify_one();
    }

    /// Removes a key that waits for a later time.
    pub(crate) fn cancel(&self, key: &K) {
        let mut inner = self.inner.lock();
        match inner.entries.get_mut(key).map(|entry| &mut entry.state) {
            Some(State::Waiting(until)) => {
                let until = *until;
                inner.waiting.remove(&(until, key.clone()));
                inner.entries.remove(key);
            }
            Some(State::Processing { later, .. }) => *later = None,
            Some(State::Ready) | None => {}
        }
    }

    /// Updates the metrics that depend on time.
    pub(crate) fn update_metrics(&self) {
        let inner = self.inner.lock();
        let now = Instant::now();
        let processing = inner
            .entries
            .values()
            .filter(|entry| matches!(entry.state, State::Processing { .. }));
        let times = processing.map(|entry| now.duration_since(entry.since).as_secs_f64());
        let (sum, longest_running) = times.fold((0.0, 0.0), |(sum, longest_running), time| {
            (sum + time, f64::max(longest_running, time))
        });
        inner.metrics.unfinished_work.set(sum);
        inner.metrics.longest_running.set(longest_running);
    }

    /// Yields each key when it becomes ready. The stream does not end.
    pub(crate) fn ready(&self) -> impl Stream<Item = K> {
        stream::unfold(self, async |queue| Some((queue.next_ready().await, queue)))
    }

    /// Ends the processing of a key successfully: resets its failure count.
    pub(crate) fn done(&self, key: &K) {
        self.finish(key, |entry, _| {
            entry.failures = 0;
            None
        });
    }

    /// Ends the processing of a key with a failure: the key is ready again after its backoff.
    pub(crate) fn retry_after_backoff(&self, key: &K) {
        self.inner.lock().metrics.retries.inc();
        self.finish(key, |entry, backoff| {
            entry.failures = entry.failures.saturating_add(1);
            Some(backoff.delay(entry.failures))
        });
    }

    /// Ends the processing of a key with a failure that a quick retry cannot fix: the key is ready again after the maximum backoff.
    pub(crate) fn postpone(&self, key: &K) {
        self.inner.lock().metrics.retries.inc();
        self.finish(key, |entry, backoff| {
            entry.failures = entry.failures.saturating_add(1);
            Some(backoff.max)
        });
    }

    async fn next_ready(&self) -> K {
        loop {
            let changed = self.changed.notified();
            let (key, wake) = self.inner.lock().pop(Instant::now());
            match (key, wake) {
                (Some(key), _) => return key,
                (None, None) => changed.await,
                (None, Some(wake)) => tokio::select! {
                    biased;
                    () = changed => {}
                    () = tokio::time::sleep_until(wake) => {}
                },
            }
        }
    }

    fn finish(&self, key: &K, wait: impl FnOnce(&mut Entry, ExponentialBackoff) -> Option<Duration>) {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        let Some(entry) = inner.entries.get_mut(key) else {
            return;
        };
        inner
            .metrics
            .work_duration
            .observe(entry.since.elapsed().as_secs_f64());
        let (again, later) = match entry.state {
            State::Processing { again, later } => (again, later),
            _ => (false, None),
        };
        let failed = wait(entry, self.backoff).map(|wait| Instant::now() + wait);
        match failed.or(later) {
            _ if again => inner.make_ready(key.clone()),
            Some(until) => {
                entry.state = State::Waiting(until);
                inner.waiting.insert((until, key.clone()));
            }
            None => {
                inner.entries.remove(key);
            }
        }
        drop(guard);
        self.changed.notify_one();
    }
}

impl<K: Clone + Eq + Hash + Ord> Inner<K> {
    fn make_ready(&mut self, key: K) {
        let entry = self.entries.entry(key.clone()).or_insert(Entry {
            state: State::Ready,
            failures: 0,
            since: Instant::now(),
        });
        entry.state = State::Ready;
        entry.since = Instant::now();
        self.ready.push_back(key);
        self.metrics.adds.inc();
        self.metrics.depth.inc();
    }

    /// Removes and returns a ready key, or else returns the time at which the next key becomes ready.
    fn pop(&mut self, now: Instant) -> (Option<K>, Option<Instant>) {
        while let Some((until, _)) = self.waiting.first()
            && *until <= now
        {
            if let Some((_, key)) = self.waiting.pop_first() {
                self.make_ready(key);
            }
        }
        let key = self.ready.pop_front();
        if let Some(entry) = key.as_ref().and_then(|key| self.entries.get_mut(key)) {
            self.metrics.depth.dec();
            self.metrics
                .queue_duration
                .observe(now.duration_since(entry.since).as_secs_f64());
            entry.state = State::Processing {
                again: false,
                later: None,
            };
            entry.since = now;
        }
        (key, self.waiting.first().map(|(until, _)| *until))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn queue() -> Queue<&'static str> {
        let backoff = ExponentialBackoff {
            start: Duration::from_secs(1),
            max: Duration::from_secs(4),
        };
        Queue::new(backoff, crate::metrics::Metrics::new().queue("test"))
    }

    fn ready_now(queue: &Queue<&'static str>) -> Option<&'static str> {
        queue.next_ready().now_or_never()
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_queued_only_once() {
        let queue = queue();
        queue.add("a");
        queue.add("b");
        queue.add("a");
        assert_eq!(
            [ready_now(&queue), ready_now(&queue), ready_now(&queue)],
            [Some("a"), Some("b"), None]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_while_in_progress_is_ready_again_afterwards() {
        let queue = queue();
        queue.add("a");
        assert_eq!(ready_now(&queue), Some("a"));
        queue.add("a");
        queue.add("a");
        assert_eq!(ready_now(&queue), None, "a key has one worker at a time");
        queue.done(&"a");
        assert_eq!(ready_now(&queue), Some("a"));
        queue.done(&"a");
        assert_eq!(ready_now(&queue), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_for_later_while_in_progress_is_ready_at_that_time() {
        let queue = queue();
        queue.add("a");
        assert_eq!(ready_now(&queue), Some("a"));
        queue.add_at("a", Instant::now() + Duration::from_secs(7));
        queue.done(&"a");
        assert_eq!(ready_now(&queue), None);
        let before = Instant::now();
        assert_eq!(queue.next_ready().await, "a");
        assert_eq!(before.elapsed().as_secs(), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn backoff_grows_until_a_success() {
        let queue = queue();
        queue.add("a");
        let mut waits = Vec::new();
        for _ in 0..4 {
            let before = Instant::now();
            assert_eq!(queue.next_ready().await, "a");
            waits.push(before.elapsed().as_secs());
            queue.retry_after_backoff(&"a");
        }
        assert_eq!(waits, [0, 1, 2, 4]);
        assert_eq!(queue.next_ready().await, "a");
        queue.done(&"a");
        queue.add("a");
        assert_eq!(queue.next_ready().await, "a");
        queue.retry_after_backoff(&"a");
        let before = Instant::now();
        assert_eq!(queue.next_ready().await, "a");
        assert_eq!(
            before.elapsed().as_secs(),
            1,
            "the success reset the failure count"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_ends_the_backoff_and_periodic_work_does_not() {
        let queue = queue();
        queue.add("a");
        assert_eq!(ready_now(&queue), Some("a"));
        queue.postpone(&"a");
        queue.add_unless_waiting("a");
        assert_eq!(ready_now(&queue), None);
        queue.add("a");
        assert_eq!(ready_now(&queue), Some("a"));
        queue.done(&"a");
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(ready_now(&queue), None, "the old backoff was cancelled");
    }

    #[tokio::test(start_paused = true)]
    async fn delayed_keys_are_not_ready_early_and_immediate_adds_win() {
        let queue = queue();
        let later = Instant::now() + Duration::from_secs(7);
        queue.add_at("a", later);
        assert_eq!(ready_now(&queue), None);
        assert_eq!(queue.next_ready().await, "a");
        assert_eq!(Instant::now(), later);
        queue.done(&"a");
        queue.add_at("b", Instant::now() + Duration::from_secs(7));
        queue.add("b");
        assert_eq!(ready_now(&queue), Some("b"));
    }

    #[tokio::test(start_paused = true)]
    async fn metrics_count_queued_and_processed_keys() {
        let metrics = crate::metrics::Metrics::new();
        let backoff = ExponentialBackoff {
            start: Duration::from_secs(1),
            max: Duration::from_secs(4),
        };
        let queue = Queue::new(backoff, metrics.queue("test"));
        ["a", "b", "a"].into_iter().for_each(|key| queue.add(key));
        assert_eq!(queue.next_ready().await, "a");
        tokio::time::advance(Duration::from_secs(3)).await;
        queue.update_metrics();
        let text = metrics.text();
        for line in [
            "workqueue_depth{name=\"test\"} 1",
            "workqueue_adds_total{name=\"test\"} 2",
            "workqueue_unfinished_work_seconds{name=\"test\"} 3.0",
            "workqueue_queue_duration_seconds_count{name=\"test\"} 1",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
    }
}
