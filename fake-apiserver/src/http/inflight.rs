//! How many requests are answered at the same time.
//!
//! Owns the two bounds of the real server, for reading and for changing requests. Watches do not count, and neither
//! do members of `system:masters`: whoever has to put the server in order is always let in.

use super::untaken::{OnItsWay, Untaken};
use crate::access::auth::{MASTERS, User};
use crate::config::options::Limits;
use crate::observe::Verb;
use crate::store::activity::{Activity, Busy};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places of a server, over all its listeners.
#[derive(Clone)]
pub(crate) struct InFlight {
    reading: Option<Arc<Semaphore>>,
    changing: Option<Arc<Semaphore>>,
}

/// What a request holds until its answer is ready.
pub(super) struct Hold {
    busy: Busy,
    untaken: Arc<Untaken>,
    _place: Option<OwnedSemaphorePermit>,
}

/// There is no place left; the answer that says so holds none.
pub(super) struct TooMany(pub(super) Hold);

impl Hold {
    /// What a request holds that needs no place, or has none yet.
    pub(super) fn new(busy: Busy, untaken: Arc<Untaken>) -> Self {
        Self {
            busy,
            untaken,
            _place: None,
        }
    }

    /// What the answer holds that is given where this request does not get to one.
    pub(super) fn spare(&self, activity: &Activity) -> Self {
        Self::new(activity.begin(), self.untaken.clone())
    }

    /// The answer is ready. Its place is for others now: a peer that does not take what it asked for keeps nobody out.
    pub(super) fn answered(self) -> OnItsWay {
        self.untaken.add(self.busy)
    }
}

impl InFlight {
    pub(crate) fn new(limits: Limits) -> Self {
        let places = |most: usize| (most > 0).then(|| Arc::new(Semaphore::new(most)));
        Self {
            reading: places(limits.reading),
            changing: places(limits.changing),
        }
    }

    /// Takes a place for a request, if it needs one.
    pub(super) fn enter(&self, verb: Verb, user: &User, hold: Hold) -> Result<Hold, TooMany> {
        let places = if verb.only_reads() {
            &self.reading
        } else {
            &self.changing
        };
        let Some(places) = places.as_ref().filter(|_| verb != Verb::Watch) else {
            return Ok(hold);
        };
        match places.clone().try_acquire_owned() {
            Ok(place) => Ok(Hold {
                _place: Some(place),
                ..hold
            }),
            Err(_) if user.is_in(MASTERS) => Ok(hold),
            Err(_) => Err(TooMany(hold)),
        }
    }
}
