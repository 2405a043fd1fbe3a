//! The current time in the format of `metadata` timestamps, in seconds.
//!
//! Caches the text within each second: formatting takes longer than reading a small object.

use jiff::Timestamp;
use parking_lot::Mutex;
use std::sync::Arc;

/// A clock with a resolution of one second.
pub(crate) struct Clock {
    read: fn() -> Timestamp,
    second: Mutex<Option<(i64, Arc<str>)>>,
}

impl Clock {
    pub(crate) fn new(read: fn() -> Timestamp) -> Self {
        let second = Mutex::default();
        Self { read, second }
    }

    /// The current second, such as `2026-01-02T03:04:05Z`.
    pub(crate) fn now(&self) -> Arc<str> {
        let now = (self.read)();
        let mut known = self.second.lock();
        match &*known {
            Some((second, text)) if *second == now.as_second() => text.clone(),
            _ => {
                let text: Arc<str> = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
                *known = Some((now.as_second(), text.clone()));
                text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_returns_the_current_second_and_replaces_a_cached_one() {
        let clock = Clock::new(Timestamp::now);
        *clock.second.lock() = Some((0, "1970-01-01T00:00:00Z".into()));
        let before = Timestamp::now().as_second();
        let now: Timestamp = clock.now().parse().expect("the clock returns an RFC 3339 time");
        assert!((before..=Timestamp::now().as_second()).contains(&now.as_second()));
    }
}
