//! Time-based compaction: after an interval, paged lists can no longer continue at an old revision.
//!
//! Owns the oldest revision that can be listed. Watches resume from the log, which has a limit of its own.

use std::time::Duration;
use tokio::time::Instant;

/// Which revisions are old enough that paged lists cannot continue from them.
pub(super) struct Compaction {
    interval: Duration,
    /// The time at which `next` was recorded. `next` is the revision up to which the next compaction runs.
    recorded_at: Instant,
    next: u64,
    /// The oldest revision that is not compacted.
    oldest: u64,
}

impl Compaction {
    pub(super) fn new(interval: Duration, now: Instant) -> Self {
        Self {
            interval,
            recorded_at: now,
            next: 0,
            oldest: 0,
        }
    }

    /// Runs the compactions due at `now`; `revision` is the newest revision. Like the etcd compactor of kube-apiserver, each compaction
    /// removes the states before the newest revision of the previous compaction: a state can be read for one to two intervals.
    ///
    /// Returns the newest revision, which each compaction increments: lease renewals of kube-apiserver increment etcd's revision, so that
    /// continue tokens expire even without other writes.
    pub(super) fn advance(&mut self, now: Instant, revision: u64) -> u64 {
        let rounds = now.duration_since(self.recorded_at).as_nanos() / self.interval.as_nanos().max(1);
        let mut revision = revision;
        if rounds > 0 {
            revision = revision.max(self.next) + 1;
            // If several intervals have passed, no request ran meanwhile: no list is recent enough to continue, so compacts all old states.
            self.oldest = if rounds == 1 { self.next } else { revision };
            self.next = revision;
            self.recorded_at = now;
        }
        revision
    }

    pub(super) fn is_compacted(&self, revision: u64) -> bool {
        revision < self.oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_lives_for_one_to_two_intervals() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut compaction = Compaction::new(Duration::from_secs(10), start);
        let mut gone_at = |seconds, newest, revision| {
            compaction.advance(at(seconds), newest);
            compaction.is_compacted(revision)
        };
        assert!(!gone_at(9, 5, 4));
        assert!(!gone_at(10, 7, 4), "the first round only records the revision");
        assert!(!gone_at(19, 8, 4));
        assert!(gone_at(21, 9, 7) && !gone_at(21, 10, 8));
        assert!(
            gone_at(60, 10, 10) && !gone_at(60, 11, 11),
            "several rounds at once compact all older states"
        );
    }

    #[test]
    fn a_state_is_compacted_even_without_writes() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut compaction = Compaction::new(Duration::from_secs(10), start);
        assert_eq!(compaction.advance(at(10), 5), 6);
        assert!(!compaction.is_compacted(5));
        assert_eq!(compaction.advance(at(20), 6), 7);
        assert!(
            compaction.is_compacted(5),
            "revision 5 is older than both compaction rounds"
        );
        assert!(!compaction.is_compacted(6));
    }
}
