//! Runs long work on a blocking thread, so that it delays no connection.
//!
//! A busy runtime worker serves none of its connections, and may be the one that polls for I/O on behalf of all workers. Owns which work
//! counts as long.

use crate::request::Verb;
use crate::verbs::call::{Answer, Call};
use std::panic::resume_unwind;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of objects of a list that is rendered on the runtime worker, which takes a few milliseconds.
const INLINE_OBJECTS_MAX: usize = 5_000;

/// Permits for long work: one per CPU and at most four, because each may hold a list in several forms in memory. Without a limit, long
/// work, even for requests that clients have already reset, could leave the runtime no CPU time.
#[derive(Clone)]
pub(super) struct LongWork(Arc<Semaphore>);

impl LongWork {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        LongWork(Arc::new(Semaphore::new(processors.min(4))))
    }

    /// Acquires a permit for long work; `None` if the work is not long.
    pub(super) async fn permit(&self, is_long: bool) -> Option<OwnedSemaphorePermit> {
        if !is_long {
            return None;
        }
        self.0.clone().acquire_owned().await.ok()
    }
}

/// Whether a request may affect an unbounded number of objects, and therefore counts as long work.
pub(super) fn may_take_long(call: &Call) -> bool {
    match call.verb {
        Verb::DeleteCollection => true,
        Verb::Delete => call.target.kind.end.is_some(),
        _ => false,
    }
}

/// Whether rendering the response is long work, to be done on a blocking thread.
pub(super) fn is_long(answer: &Answer) -> bool {
    matches!(answer, Answer::List(plan) if plan.snapshot.objects.len() > INLINE_OBJECTS_MAX)
}

/// Runs work on the current thread or, with a permit, on a blocking thread. On a blocking thread, the work completes, and holds its permit,
/// even if its request is dropped.
pub(super) async fn run_long_work<T: Send + 'static>(
    permit: Option<OwnedSemaphorePermit>,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let Some(permit) = permit else {
        return work();
    };
    let work = move || {
        let _permit = permit;
        work()
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failure) => match failure.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The task is cancelled only when the runtime shuts down, and then this future is never polled again.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[tokio::test]
    async fn work_of_a_dropped_request_keeps_its_permit_until_it_ends() {
        let long = LongWork(Arc::new(Semaphore::new(1)));
        let permit = long.permit(true).await;
        let (end, ended) = channel::<()>();
        let mut work = Box::pin(run_long_work(permit, move || ended.recv().is_ok()));
        assert!(futures::poll!(work.as_mut()).is_pending());
        drop(work);
        assert_eq!(long.0.available_permits(), 0);
        end.send(()).expect("the work still waits for the signal");
        assert!(long.permit(true).await.is_some());
    }
}
