//! Responses that the client has not read yet.
//!
//! Owns the limit on how long a client may leave a response unread. `patience` limits pending writes, but over HTTP/2 a client
//! can keep the connection active and still read nothing from one stream, so that no write is pending. Does not know the
//! content of responses.

use crate::store::activity::Busy;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Bytes that unread responses of all connections hold, and their maximum.
#[derive(Clone)]
pub(super) struct UnreadBytes {
    held: Arc<AtomicUsize>,
    most: usize,
}

/// The bytes of one unread response.
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

/// The pending responses of one connection, each with the time at which the client last took a part of it.
#[derive(Default)]
pub(super) struct Untaken(Mutex<Answers>);

#[derive(Default)]
struct Answers {
    count: u64,
    moved: HashMap<u64, Instant>,
}

/// A pending response. The request counts as in flight until this is dropped, when the connection has taken everything or
/// was closed.
pub(super) struct OnItsWay {
    of: Arc<Untaken>,
    id: u64,
    _busy: Busy,
    _unread: Unread,
}

impl Untaken {
    /// Registers a response that is ready to be sent.
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

    /// Resolves when the client has taken no part of some response for that long, or for up to twice as long.
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
    /// Records that the client took a part of the response.
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
