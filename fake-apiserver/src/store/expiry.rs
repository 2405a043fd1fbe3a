//! When events end: each is kept for a while after it was last written.
//!
//! Owns the order in which they end. Does not remove anything.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The last writes of objects that are kept for a while.
pub(super) struct Expiry {
    keep: Duration,
    written: HashMap<Arc<str>, Instant>,
    /// When to look at an object again, earliest first. One that was written since is put back.
    due: VecDeque<(Instant, Arc<str>)>,
}

impl Expiry {
    pub(super) fn new(keep: Duration) -> Self {
        Self {
            keep,
            written: HashMap::new(),
            due: VecDeque::new(),
        }
    }

    pub(super) fn wrote(&mut self, key: &str, now: Instant) {
        let key: Arc<str> = key.into();
        if self.written.insert(key.clone(), now).is_none() {
            self.due.push_back((now + self.keep, key));
        }
    }

    pub(super) fn removed(&mut self, key: &str) {
        self.written.remove(key);
    }

    /// An object whose time has come.
    pub(super) fn next(&mut self, now: Instant) -> Option<Arc<str>> {
        while self.due.front().is_some_and(|(due, _)| *due <= now) {
            let (_, key) = self.due.pop_front()?;
            let Some(written) = self.written.get(&key) else {
                continue;
            };
            let end = *written + self.keep;
            if end <= now {
                self.written.remove(&key);
                return Some(key);
            }
            self.due.push_back((end, key));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_is_kept_longer() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut expiry = Expiry::new(Duration::from_secs(10));
        for (key, seconds) in [("a", 0), ("b", 1), ("a", 5), ("c", 6)] {
            expiry.wrote(key, at(seconds));
        }
        expiry.removed("c");
        assert_eq!(expiry.next(at(10)), None);
        assert_eq!(expiry.next(at(14)).as_deref(), Some("b"));
        assert_eq!(expiry.next(at(14)), None);
        assert_eq!(expiry.next(at(16)).as_deref(), Some("a"));
        assert_eq!(expiry.next(at(99)), None);
    }
}
