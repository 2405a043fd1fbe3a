//! Counts unfinished work: requests in flight and watch events not yet delivered.
//!
//! Owns the count that `ApiServer::quiet` waits for. Wakes the waiters when the count drops to 0; nothing polls. Does not know what kind of
//! work is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// A count of unfinished work.
#[derive(Clone, Default)]
pub(crate) struct Activity(Arc<Inner>);

#[derive(Default)]
struct Inner {
    unfinished: AtomicUsize,
    idle: Notify,
}

/// One unit of unfinished work, finished on drop.
pub(crate) struct ActivityGuard(Activity);

impl Activity {
    /// Counts one unit of unfinished work until the returned guard is dropped.
    pub(crate) fn begin(&self) -> ActivityGuard {
        self.add(1);
        ActivityGuard(self.clone())
    }

    pub(crate) fn add(&self, count: usize) {
        self.0.unfinished.fetch_add(count, Ordering::SeqCst);
    }

    pub(crate) fn done(&self, count: usize) {
        if count > 0 && self.0.unfinished.fetch_sub(count, Ordering::SeqCst) == count {
            self.0.idle.notify_waiters();
        }
    }

    /// Resolves when the count is 0; at once if it is 0 already.
    pub(crate) async fn idle(&self) {
        let mut idle = std::pin::pin!(self.0.idle.notified());
        idle.as_mut().enable();
        if self.0.unfinished.load(Ordering::SeqCst) > 0 {
            idle.await;
        }
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.done(1);
    }
}
