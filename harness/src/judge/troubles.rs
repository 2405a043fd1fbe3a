//! Errors that systems have met and not got over yet: after one, a system may wait for long before it tries again, and does not say for
//! how long. What a fault only makes late comes when that says.

use std::collections::HashMap;
use std::sync::Arc;

use fake_apiserver::{AppliedFault, Effect, Verb};
use fake_csi::Method;

use crate::journal::{CallFact, RequestFact, What, micros};

/// Errors after which nothing of the same kind has gone well.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    open: HashMap<Attempt, Open>,
    /// Journal time of the last success that ended one.
    ended_us: u64,
    /// Journal time at which the last of what is late comes.
    late_us: u64,
}

/// An error, or several of the same attempt.
#[derive(Debug)]
struct Open {
    /// Journal time of the last one.
    at_us: u64,
    /// How often it must go well. A program may watch a resource several times over, and each watch that ended has to begin again.
    times: u32,
}

/// What was tried, and by whom.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Attempt {
    /// An API request. The resource is empty for a path without one; a create has no name.
    Request {
        client: Option<Arc<str>>,
        verb: Verb,
        resource: String,
        name: Option<String>,
    },
    /// A CSI call about a volume: method and name.
    Call(Method, String),
    /// A question to an extender: verb and pod.
    Question(String, String),
    /// One that may have been carried out, or that nothing tells from others: what goes well later may be another one.
    Lasting,
}

/// How an attempt has ended.
#[derive(Clone, Copy)]
enum Ending {
    Done,
    /// For what it says: that is no trouble, and does not end any.
    Refused,
    Failed,
}

impl Ending {
    fn of(is_well: bool) -> Self {
        if is_well { Ending::Done } else { Ending::Failed }
    }
}

impl Troubles {
    /// Takes one fact in.
    pub(super) fn apply(&mut self, what: &What, at_us: u64) {
        match what {
            What::Fault(fault) => match of_fault(fault) {
                Stopped::For(microseconds) => self.late_us = self.late_us.max(at_us + microseconds),
                Stopped::Wholly(attempt) => self.fail(attempt, at_us),
                Stopped::Ended(watch) => {
                    let open = self.open.entry(watch).or_insert(Open { at_us, times: 0 });
                    open.at_us = at_us;
                    open.times += 1;
                }
            },
            What::Request(request) => {
                let ending = match request.code {
                    429 | 500.. => Ending::Failed,
                    400.. => Ending::Refused,
                    // A watch of a version that has expired is answered with 200, and the error comes as its first event.
                    _ if request.verb == Verb::Watch && request.revision.is_none() => Ending::Refused,
                    _ => Ending::Done,
                };
                self.note(ending, at_us, || of_request(request));
            }
            What::Call(call) => {
                // A publisher cannot use a negative capacity: it retries as after an error.
                let is_sound = call.available.is_none_or(|bytes| bytes >= 0);
                self.note(Ending::of(call.is_answered() && is_sound), at_us, || {
                    of_call(call)
                });
            }
            What::Extender(question) => {
                let attempt = || Attempt::Question(question.verb.clone(), question.pod.clone());
                self.note(Ending::of(question.error.is_none()), at_us, attempt);
            }
            _ => {}
        }
    }

    /// Takes in that calls have failed up to now which nobody has seen: a driver that does not run notes none.
    pub(super) fn unseen(&mut self, at_us: u64) {
        self.fail(Attempt::Lasting, at_us);
    }

    fn fail(&mut self, attempt: Attempt, at_us: u64) {
        let open = self.open.entry(attempt).or_insert(Open { at_us, times: 1 });
        open.at_us = at_us;
    }

    fn succeed(&mut self, attempt: &Attempt, at_us: u64) {
        if let Some(open) = self.open.get_mut(attempt) {
            open.times -= 1;
            if open.times == 0 {
                self.open.remove(attempt);
                self.ended_us = at_us;
            }
        }
    }

    /// Most attempts go well where none has failed, and nobody needs to know what they were.
    fn note(&mut self, ending: Ending, at_us: u64, attempt: impl FnOnce() -> Attempt) {
        match ending {
            Ending::Failed => self.fail(attempt(), at_us),
            Ending::Done if !self.open.is_empty() => match attempt() {
                Attempt::Lasting => {}
                attempt => self.succeed(&attempt, at_us),
            },
            Ending::Done | Ending::Refused => {}
        }
    }

    /// Journal time until which something is late.
    pub(super) fn late_us(&self) -> u64 {
        self.late_us
    }

    /// Journal time at which the last error ended: the same attempt succeeded.
    pub(super) fn ended_us(&self) -> u64 {
        self.ended_us
    }

    /// Journal time of the last one.
    pub(super) fn last_us(&self) -> Option<u64> {
        self.open.values().map(|open| open.at_us).max()
    }
}

/// What a fault has done to an attempt.
enum Stopped {
    /// It takes so many microseconds more.
    For(u64),
    /// It has to be made again.
    Wholly(Attempt),
    /// This watch has ended, and has to begin again.
    Ended(Attempt),
}

fn of_fault(fault: &AppliedFault) -> Stopped {
    if let Some(delay) = fault.delay() {
        return Stopped::For(micros(delay));
    }
    let request = fault
        .verb
        .filter(|verb| *verb != Verb::Create)
        .map(|verb| Attempt::Request {
            client: fault.client.clone(),
            verb,
            resource: fault.resource.clone().unwrap_or_default(),
            name: fault.name.clone(),
        });
    match (&fault.effect, request) {
        (Effect::EndWatch { after_events: 0 }, Some(watch)) => Stopped::Ended(watch),
        (Effect::Status { .. } | Effect::Disconnect, Some(request)) => Stopped::Wholly(request),
        _ => Stopped::Wholly(Attempt::Lasting),
    }
}

fn of_request(request: &RequestFact) -> Attempt {
    match (request.verb, &request.name) {
        (Verb::Create, None) => Attempt::Lasting,
        (verb, name) => Attempt::Request {
            client: Some(request.client.clone()),
            verb,
            resource: request.resource.clone(),
            name: name.clone(),
        },
    }
}

/// Classes with the same parameters ask the same of GetCapacity.
fn of_call(call: &CallFact) -> Attempt {
    match &call.volume {
        Some(volume) => Attempt::Call(call.method, volume.clone()),
        None => Attempt::Lasting,
    }
}
