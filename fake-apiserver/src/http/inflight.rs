//! Limits on requests in flight.
//!
//! Owns the two limits of kube-apiserver, for read-only and for mutating requests. Watches do not count. Members of
//! `system:masters` are never refused, so that administrators can repair the server. The limits on long lists and on unread
//! responses protect memory and apply to them as well.

use super::offload::LongWork;
use super::untaken::{OnItsWay, UnreadBytes, Untaken};
use crate::access::auth::{MASTERS, User};
use crate::config::options::Limits;
use crate::request::Verb;
use crate::store::activity::Busy;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The in-flight limits of a server, over all its listeners.
#[derive(Clone)]
pub(crate) struct InFlight {
    reading: Option<Arc<Semaphore>>,
    changing: Option<Arc<Semaphore>>,
    /// Limits long lists to half of the read requests, so that other reads are served while long lists wait for a CPU.
    pub(super) long_lists: Option<Arc<Semaphore>>,
    pub(super) long_work: LongWork,
    pub(super) unread: UnreadBytes,
}

/// The resources that a request holds until its response is ready.
pub(super) struct RequestHold {
    busy: Busy,
    untaken: Arc<Untaken>,
    unread: UnreadBytes,
    place: Option<OwnedSemaphorePermit>,
}

impl RequestHold {
    /// Holds no in-flight permit yet.
    pub(super) fn new(busy: Busy, untaken: Arc<Untaken>, unread: UnreadBytes) -> Self {
        Self {
            busy,
            untaken,
            unread,
            place: None,
        }
    }

    /// Acquires an in-flight permit if the request needs one; returns false if it must be refused.
    pub(super) fn enter(&mut self, in_flight: &InFlight, verb: Verb, user: &User) -> bool {
        let places = if verb.only_reads() {
            &in_flight.reading
        } else {
            &in_flight.changing
        };
        let Some(places) = places.as_ref().filter(|_| verb != Verb::Watch) else {
            return true;
        };
        self.place = places.clone().try_acquire_owned().ok();
        self.place.is_some() || user.is_in(MASTERS)
    }

    /// The response is ready. Releases the permit: a client that does not read its response blocks no other request.
    pub(super) fn answered(self, bytes: usize) -> OnItsWay {
        self.untaken.add(self.busy, self.unread.add(bytes))
    }
}

impl InFlight {
    pub(crate) fn new(limits: Limits) -> Self {
        let places = |most: usize| (most > 0).then(|| Arc::new(Semaphore::new(most)));
        Self {
            reading: places(limits.reading),
            changing: places(limits.changing),
            long_lists: places(limits.reading.div_ceil(2)),
            long_work: LongWork::new(),
            unread: UnreadBytes::new(limits.unread_bytes),
        }
    }
}
