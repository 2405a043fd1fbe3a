//! Work that takes long, moved to a thread where it keeps no connection waiting.
//!
//! A worker of the runtime that is busy for long serves none of its connections, and may be the one that all others rely
//! on to be told of incoming bytes. Owns what counts as long. Does not know what the work is.

use crate::observe::Verb;
use crate::verbs::call::{Answer, Call};
use std::panic::resume_unwind;

/// Objects that a list may be cut from on the spot: it takes a few milliseconds, selectors and tables included.
const OBJECTS_ON_THE_SPOT: usize = 5_000;

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

/// Does something on the spot, or on a thread of its own if it takes long. It is done to its end even if nobody waits for
/// it any more.
pub(super) async fn run<T: Send + 'static>(is_long: bool, work: impl FnOnce() -> T + Send + 'static) -> T {
    if !is_long {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failure) => match failure.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // It is only cancelled when the runtime ends, and then this task is never polled again.
            Err(_) => std::future::pending().await,
        },
    }
}
