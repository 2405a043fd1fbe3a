//! When events end: each is kept for a while after it was last written.
//!
//! Owns the order in which they end. Does not remove anything.

use super::owners::Spot;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tokio::time::Instant;

/// The last writes of objects that are kept for a while.
pub(super) struct Expiry {
    keep: Duration,
    written: HashMap<Spot, Instant>,
    /// When to look at an object again, earliest first. One that was written since is put back.
    due: VecDeque<(Instant, Spot)>,
}

impl Expiry {
    pub(super) fn new(keep: Duration) -> Self {
        Self {
            keep,
            written: HashMap::new(),
            due: VecDeque::new(),
        }
    }

    pub(super) fn wrote(&mut self, spot: Spot, now: Instant) {
        if self.written.insert(spot.clone(), now).is_none() {
            self.due.push_back((now + self.keep, spot));
        }
    }

    pub(super) fn removed(&mut self, spot: &Spot) {
        self.written.remove(spot);
    }

    /// An object whose time has come.
    pub(super) fn next(&mut self, now: Instant) -> Option<Spot> {
        while self.due.front().is_some_and(|(due, _)| *due <= now) {
            let (_, spot) = self.due.pop_front()?;
            let Some(written) = self.written.get(&spot) else {
                continue;
            };
            let end = *written + self.keep;
            if end <= now {
                self.written.remove(&spot);
                return Some(spot);
            }
            self.due.push_back((end, spot));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_is_kept_longer() {
        let spot = |key: &str| (0, key.into());
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut expiry = Expiry::new(Duration::from_secs(10));
        for (key, seconds) in [("a", 0), ("b", 1), ("a", 5), ("c", 6)] {
            expiry.wrote(spot(key), at(seconds));
        }
        expiry.removed(&spot("c"));
        assert_eq!(expiry.next(at(10)), None);
        assert_eq!(expiry.next(at(14)), Some(spot("b")));
        assert_eq!(expiry.next(at(14)), None);
        assert_eq!(expiry.next(at(16)), Some(spot("a")));
        assert_eq!(expiry.next(at(99)), None);
    }
}
