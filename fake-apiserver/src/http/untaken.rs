//! Answers that a connection has not taken yet.
//!
//! Owns the bound on how long a peer may leave an answer where it is. A write that waits is `patience`'s business, but
//! over HTTP/2 a peer can keep a connection lively and take nothing from one of its streams: nothing is written then.
//! Does not know what the answers are.

use crate::store::activity::Busy;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Bytes that unread responses of all connections hold, and how many they may.
#[derive(Clone)]
pub(super) struct UnreadBytes {
    held: Arc<AtomicUsize>,
    most: usize,
}

/// The bytes of one of them.
pub(super) struct Unread(UnreadBytes, usize);

impl UnreadBytes {
    pub(super) fn new(most: usize) -> Self {
        Self {
            held: Arc::default(),
            most,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.held.load(Ordering::Relaxed) >= self.most
    }

    pub(super) fn add(&self, bytes: usize) -> Unread {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Unread(self.clone(), bytes)
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let Self(all, bytes) = self;
        all.held.fetch_sub(*bytes, Ordering::Relaxed);
    }
}

/// The answers of one connection that are still on their way, each with the time at which a piece of it was last taken.
#[derive(Default)]
pub(super) struct Untaken(Mutex<Answers>);

#[derive(Default)]
struct Answers {
    count: u64,
    moved: HashMap<u64, Instant>,
}

/// An answer on its way. The request counts as being answered until this is dropped: the connection has taken all of it,
/// or is gone.
pub(super) struct OnItsWay {
    of: Arc<Untaken>,
    id: u64,
    _busy: Busy,
    _unread: Unread,
}

impl Untaken {
    /// Notes that an answer is ready to be taken.
    pub(super) fn add(self: &Arc<Self>, busy: Busy, unread: Unread) -> OnItsWay {
        let mut answers = self.0.lock();
        answers.count += 1;
        let id = answers.count;
        answers.moved.insert(id, Instant::now());
        OnItsWay {
            of: self.clone(),
            id,
            _busy: busy,
            _unread: unread,
        }
    }

    /// Resolves when an answer has been left where it is for that long, or for up to twice as long.
    pub(super) async fn is_left(&self, patience: Duration) {
        loop {
            let oldest = self.0.lock().moved.values().min().copied();
            let end = oldest.unwrap_or_else(Instant::now) + patience;
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}

impl OnItsWay {
    /// Notes that a piece has been taken.
    pub(super) fn moved(&self) {
        if let Some(moved) = self.of.0.lock().moved.get_mut(&self.id) {
            *moved = Instant::now();
        }
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        self.of.0.lock().moved.remove(&self.id);
    }
}
