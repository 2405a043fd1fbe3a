//! The end of old states by time: lists go on from a revision for a while only.
//!
//! Owns which revision is the oldest that may still be read. Watches go on from the log, which has a bound of its own.

use std::time::Duration;
use tokio::time::Instant;

/// Which states may still be read.
pub(super) struct Compaction {
    interval: Duration,
    /// When the revision to which the next compaction goes was noted.
    noted: Instant,
    next: u64,
    /// States before this one are gone.
    oldest: u64,
}

impl Compaction {
    pub(super) fn new(interval: Duration, now: Instant) -> Self {
        Self {
            interval,
            noted: now,
            next: 0,
            oldest: 0,
        }
    }

    /// Moves on with time; `revision` is the newest. Like the compactor of the real server, which comes round at
    /// intervals, and compacts what it saw the last time: a state lives for one interval at least, and for two at most.
    ///
    /// Returns the newest revision from now on. The real server renews a lease of its own all the time, so that each round
    /// finds a later revision than the last round and than every list before it, and a list ends though nobody writes.
    pub(super) fn advance(&mut self, now: Instant, revision: u64) -> u64 {
        let rounds = now.duration_since(self.noted).as_nanos() / self.interval.as_nanos().max(1);
        let mut revision = revision;
        if rounds > 0 {
            revision = revision.max(self.next) + 1;
            // Nothing was written in the meantime that somebody has looked at.
            self.oldest = if rounds == 1 { self.next } else { revision };
            self.next = revision;
            self.noted = now;
        }
        revision
    }

    /// Whether the state at a revision is gone.
    pub(super) fn has_taken(&self, revision: u64) -> bool {
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
        let mut gone_at = |seconds, newest, asked| {
            compaction.advance(at(seconds), newest);
            compaction.has_taken(asked)
        };
        assert!(!gone_at(9, 5, 4));
        assert!(!gone_at(10, 7, 4), "what there is by now is noted");
        assert!(!gone_at(19, 8, 4));
        assert!(gone_at(21, 9, 7) && !gone_at(21, 10, 8));
        assert!(
            gone_at(60, 10, 10) && !gone_at(60, 11, 11),
            "nobody came for long"
        );
    }

    #[test]
    fn a_state_ends_though_nobody_writes() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut compaction = Compaction::new(Duration::from_secs(10), start);
        assert_eq!(compaction.advance(at(10), 5), 6);
        assert!(!compaction.has_taken(5));
        assert_eq!(compaction.advance(at(20), 6), 7);
        assert!(compaction.has_taken(5), "it was there before both rounds");
        assert!(!compaction.has_taken(6));
    }
}
