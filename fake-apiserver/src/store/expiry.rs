//! Expiry of Event objects: each is deleted a fixed time after its last write.
//!
//! Owns the order of expiry. Does not delete objects.

use super::owners::ObjectId;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tokio::time::Instant;

/// Times of the last write of Event objects, and the times at which to check them for expiry.
pub(super) struct Expiry {
    ttl: Duration,
    written: HashMap<ObjectId, Instant>,
    /// When to check whether an Event has expired, earliest first. An Event that was written after the entry was added is enqueued again.
    due: VecDeque<(Instant, ObjectId)>,
}

impl Expiry {
    pub(super) fn new(ttl: Duration) -> Self {
        Self {
            ttl,
            written: HashMap::new(),
            due: VecDeque::new(),
        }
    }

    pub(super) fn record_write(&mut self, object_id: ObjectId, now: Instant) {
        if self.written.insert(object_id.clone(), now).is_none() {
            self.due.push_back((now + self.ttl, object_id));
        }
    }

    pub(super) fn record_removal(&mut self, object_id: &ObjectId) {
        self.written.remove(object_id);
    }

    pub(super) fn next_expired(&mut self, now: Instant) -> Option<ObjectId> {
        while self.due.front().is_some_and(|(due, _)| *due <= now) {
            let (_, object_id) = self.due.pop_front()?;
            let Some(written) = self.written.get(&object_id) else {
                continue;
            };
            let end = *written + self.ttl;
            if end <= now {
                self.written.remove(&object_id);
                return Some(object_id);
            }
            self.due.push_back((end, object_id));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_write_postpones_expiry() {
        let object_id = |key: &str| (0, key.into());
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut expiry = Expiry::new(Duration::from_secs(10));
        for (key, seconds) in [("a", 0), ("b", 1), ("a", 5), ("c", 6)] {
            expiry.record_write(object_id(key), at(seconds));
        }
        expiry.record_removal(&object_id("c"));
        assert_eq!(expiry.next_expired(at(10)), None);
        assert_eq!(expiry.next_expired(at(14)), Some(object_id("b")));
        assert_eq!(expiry.next_expired(at(14)), None);
        assert_eq!(expiry.next_expired(at(16)), Some(object_id("a")));
        assert_eq!(expiry.next_expired(at(99)), None);
    }
}
