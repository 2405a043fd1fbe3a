//! Responses that the client has not read yet.
//!
//! Owns the limit on how long a client may leave a response unread. `write_timeout` limits pending writes, but over HTTP/2 a client
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
pub(super) struct UnreadGuard(UnreadBytes, usize);

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

    pub(super) fn add(&self, bytes: usize) -> UnreadGuard {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        UnreadGuard(self.clone(), bytes)
    }
}

impl Drop for UnreadGuard {
    fn drop(&mut self) {
        let Self(all, bytes) = self;
        all.held.fetch_sub(*bytes, Ordering::Relaxed);
    }
}

/// The pending responses of one connection, each with the time at which the client last took a part of it.
#[derive(Default)]
pub(super) struct PendingResponses(Mutex<LastProgress>);

#[derive(Default)]
struct LastProgress {
    count: u64,
    times: HashMap<u64, Instant>,
}

/// A pending response. The request counts as in flight until this is dropped, when the connection has taken everything or
/// was closed.
pub(super) struct PendingResponse {
    of: Arc<PendingResponses>,
    id: u64,
    _busy: Busy,
    _unread: UnreadGuard,
}

impl PendingResponses {
    /// Registers a response that is ready to be sent.
    pub(super) fn add(self: &Arc<Self>, busy: Busy, unread: UnreadGuard) -> PendingResponse {
        let mut responses = self.0.lock();
        responses.count += 1;
        let id = responses.count;
        responses.times.insert(id, Instant::now());
        PendingResponse {
            of: self.clone(),
            id,
            _busy: busy,
            _unread: unread,
        }
    }

    /// Resolves when the client has taken no part of a response for that long, or for up to twice as long.
    pub(super) async fn stalled_for(&self, timeout: Duration) {
        loop {
            let oldest = self.0.lock().times.values().min().copied();
            let end = oldest.unwrap_or_else(Instant::now) + timeout;
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}

impl PendingResponse {
    /// Records that the client took a part of the response.
    pub(super) fn progressed(&self) {
        if let Some(time) = self.of.0.lock().times.get_mut(&self.id) {
            *time = Instant::now();
        }
    }
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        self.of.0.lock().times.remove(&self.id);
    }
}
