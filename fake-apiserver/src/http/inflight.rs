//! How many requests are answered at the same time.
//!
//! Owns the two bounds of the real server, for reading and for changing requests. Watches do not count, and neither
//! do members of `system:masters`: administrators who have to put the server in order always get in.
//! The limits on long lists and on unread responses are about memory, and hold for them as well.

use super::offload::LongWork;
use super::untaken::{OnItsWay, UnreadBytes, Untaken};
use crate::access::auth::{MASTERS, User};
use crate::config::options::Limits;
use crate::request::Verb;
use crate::store::activity::Busy;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places of a server, over all its listeners.
#[derive(Clone)]
pub(crate) struct InFlight {
    reading: Option<Arc<Semaphore>>,
    changing: Option<Arc<Semaphore>>,
    /// For long lists, half of the reading requests: while these wait for a processor, others still get a place.
    pub(super) long_lists: Option<Arc<Semaphore>>,
    pub(super) long_work: LongWork,
    pub(super) unread: UnreadBytes,
}

/// What a request holds until its answer is ready.
pub(super) struct RequestHold {
    busy: Busy,
    untaken: Arc<Untaken>,
    unread: UnreadBytes,
    place: Option<OwnedSemaphorePermit>,
}

impl RequestHold {
    /// What a request holds that needs no place, or has none yet.
    pub(super) fn new(busy: Busy, untaken: Arc<Untaken>, unread: UnreadBytes) -> Self {
        Self {
            busy,
            untaken,
            unread,
            place: None,
        }
    }

    /// Takes a place for a request, if it needs one; whether there was one.
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

    /// The answer is ready. Its place is free for others: a peer that does not read its answer keeps no request out.
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
