//! Expiry of events: each is removed a fixed time after its last write.
//!
//! Owns the order of expiry. Does not remove objects.

use super::owners::Spot;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tokio::time::Instant;

/// Last writes of the objects that expire.
pub(super) struct Expiry {
    keep: Duration,
    written: HashMap<Spot, Instant>,
    /// When to check an object, earliest first. An object that was written since is enqueued again.
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

    /// The next expired object.
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
    fn a_later_write_postpones_expiry() {
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
