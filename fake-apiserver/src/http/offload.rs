//! Work that takes long, moved to a thread where it keeps no connection waiting.
//!
//! A worker of the runtime that is busy for long serves none of its connections, and may be the one that all others rely
//! on to be told of incoming bytes. Owns what counts as long. Does not know what the work is.

use crate::request::Verb;
use crate::verbs::call::{Answer, Call};
use std::panic::resume_unwind;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Objects that a list may be cut from on the spot: it takes a few milliseconds, selectors and tables included.
const OBJECTS_ON_THE_SPOT: usize = 5_000;

/// The places for long work of one server: one per processor, and four at most, for each may hold several forms of a list.
/// Without a limit the runtime would lack processors, and work would go on whose client has reset its request.
#[derive(Clone)]
pub(super) struct LongWork(Arc<Semaphore>);

impl LongWork {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        LongWork(Arc::new(Semaphore::new(processors.min(4))))
    }

    /// The permit that long work runs with; none for other work.
    pub(super) async fn permit(&self, is_long: bool) -> Option<OwnedSemaphorePermit> {
        if !is_long {
            return None;
        }
        self.0.clone().acquire_owned().await.ok()
    }
}

/// Whether a request may touch any number of objects.
pub(super) fn may_take_long(call: &Call) -> bool {
    match call.verb {
        Verb::DeleteCollection => true,
        Verb::Delete => call.target.kind.end.is_some(),
        _ => false,
    }
}

/// Whether there is much to do until an answer is rendered.
pub(super) fn is_long(answer: &Answer) -> bool {
    matches!(answer, Answer::List(plan) if plan.snapshot.objects.len() > OBJECTS_ON_THE_SPOT)
}

/// Does something on the spot, or on a thread of its own with the permit of long work. There it is done to its end even
/// if its request is dropped, and the permit is free only then.
pub(super) async fn run<T: Send + 'static>(
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
            // It is only cancelled when the runtime ends, and then this task is never polled again.
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
        let mut work = Box::pin(run(permit, move || ended.recv().is_ok()));
        assert!(futures::poll!(work.as_mut()).is_pending());
        drop(work);
        assert_eq!(long.0.available_permits(), 0);
        end.send(()).expect("the work waits");
        assert!(long.permit(true).await.is_some());
    }
}
