//! Limits on requests in flight.
//!
//! Owns the two limits of kube-apiserver, for read-only and for mutating requests. Watches do not count. Members of `system:masters` are
//! never refused, so that administrators can repair the server. The limits on long lists and on unread responses protect memory and also
//! apply to members of `system:masters`.

use super::offload::LongWork;
use super::pending_responses::{PendingResponse, PendingResponses, UnreadBytes};
use crate::access::auth::{MASTERS, User};
use crate::config::options::Limits;
use crate::request::Verb;
use crate::store::activity::ActivityGuard;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The in-flight limits of a server, shared by all its listeners.
#[derive(Clone)]
pub(crate) struct InFlight {
    read_only: Option<Arc<Semaphore>>,
    mutating: Option<Arc<Semaphore>>,
    /// Limits long lists to half of the read requests, so that other reads are served while long lists wait for a CPU.
    pub(super) long_lists: Option<Arc<Semaphore>>,
    pub(super) long_work: LongWork,
    pub(super) unread: UnreadBytes,
}

/// The in-flight permit and counters that a request holds until its response is ready.
pub(super) struct InFlightGuard {
    busy: ActivityGuard,
    pending: Arc<PendingResponses>,
    unread: UnreadBytes,
    permit: Option<OwnedSemaphorePermit>,
}

impl InFlightGuard {
    /// Creates a guard that has no in-flight permit yet.
    pub(super) fn new(busy: ActivityGuard, pending: Arc<PendingResponses>, unread: UnreadBytes) -> Self {
        Self {
            busy,
            pending,
            unread,
            permit: None,
        }
    }

    /// Acquires an in-flight permit if the request needs one; returns false if the request must be refused.
    pub(super) fn acquire(&mut self, in_flight: &InFlight, verb: Verb, user: &User) -> bool {
        let semaphore = if verb.only_reads() {
            &in_flight.read_only
        } else {
            &in_flight.mutating
        };
        let Some(semaphore) = semaphore.as_ref().filter(|_| verb != Verb::Watch) else {
            return true;
        };
        self.permit = semaphore.clone().try_acquire_owned().ok();
        self.permit.is_some() || user.is_in(MASTERS)
    }

    /// Called when the response is ready. Releases the in-flight permit: a client that does not read its response blocks no other request.
    pub(super) fn response_ready(self, bytes: usize) -> PendingResponse {
        self.pending.add(self.busy, self.unread.add(bytes))
    }
}

impl InFlight {
    pub(crate) fn new(limits: Limits) -> Self {
        let limit = |most: usize| (most > 0).then(|| Arc::new(Semaphore::new(most)));
        Self {
            read_only: limit(limits.requests_inflight),
            mutating: limit(limits.mutating_requests_inflight),
            long_lists: limit(limits.requests_inflight.div_ceil(2)),
            long_work: LongWork::new(),
            unread: UnreadBytes::new(limits.unread_bytes),
        }
    }
}
