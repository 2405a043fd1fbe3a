//! Responses that the client has not read yet.
//!
//! Owns the limit on how long a client may leave a response unread. `write_timeout` limits pending writes only. Over HTTP/2, a client can
//! leave one stream unread without a pending write, because the connection remains active. Does not know the content of responses.

use crate::store::activity::ActivityGuard;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The number of bytes that unread responses of all connections hold in memory, and its maximum.
#[derive(Clone)]
pub(super) struct UnreadBytes {
    held: Arc<AtomicUsize>,
    most: usize,
}

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

/// The pending responses of one connection, each with the time at which the client last read a part of the response.
#[derive(Default)]
pub(super) struct PendingResponses(Mutex<LastProgress>);

#[derive(Default)]
struct LastProgress {
    count: u64,
    times: HashMap<u64, Instant>,
}

/// A pending response. Its request counts as in flight until this value is dropped, when the connection has accepted the whole response or
/// was closed.
pub(super) struct PendingResponse {
    of: Arc<PendingResponses>,
    id: u64,
    _busy: ActivityGuard,
    _unread: UnreadGuard,
}

impl PendingResponses {
    /// Registers a response that is ready to send.
    pub(super) fn add(self: &Arc<Self>, busy: ActivityGuard, unread: UnreadGuard) -> PendingResponse {
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

    /// Waits until the client of the connection has left some pending response unread for `timeout`.
    pub(super) async fn wait_until_stalled(&self, timeout: Duration) {
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
    /// Records that the client read a part of the response.
    pub(super) fn record_progress(&self) {
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
