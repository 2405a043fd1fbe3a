//! Errors from which systems have not recovered yet: afterwards a system may back off for an unknown time. Delays by faults end at a known
//! time.

use std::collections::HashMap;
use std::sync::Arc;

use fake_apiserver::{AppliedFault, Effect, Verb};
use fake_csi::Method;

use crate::journal::{CallFact, RequestFact, What, micros};

/// Errors without a later success of the same attempt.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    open: HashMap<Attempt, Open>,
    /// Journal time of the last recovery.
    ended_us: u64,
    /// Journal time at which the last delay ends.
    late_us: u64,
}

/// One or several errors of the same attempt.
#[derive(Debug)]
struct Open {
    /// Journal time of the last error.
    at_us: u64,
    /// Number of successes needed. A program may have several watches of a resource, each of which must restart.
    times: u32,
}

/// The failed attempt and its client.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Attempt {
    /// An API request. `resource` is empty for other paths; a create request has no name.
    Request {
        client: Option<Arc<str>>,
        verb: Verb,
        resource: String,
        name: Option<String>,
    },
    /// A CSI call about a volume: method and name.
    Call(Method, String),
    /// An extender call: verb and pod.
    Question(String, String),
    /// An attempt that may have been carried out, or cannot be identified: a later success may belong to another attempt.
    Lasting,
}

/// Outcome of an attempt.
#[derive(Clone, Copy)]
enum Ending {
    Done,
    /// Rejected because of its content: neither an error nor a recovery.
    Refused,
    Failed,
}

impl Ending {
    fn of(is_well: bool) -> Self {
        if is_well { Ending::Done } else { Ending::Failed }
    }
}

impl Troubles {
    /// Processes a fact.
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
                    // A watch from an expired revision starts with status 200, and its first event is the error.
                    _ if request.verb == Verb::Watch && request.revision.is_none() => Ending::Refused,
                    _ => Ending::Done,
                };
                self.note(ending, at_us, || of_request(request));
            }
            What::Call(call) => {
                // A negative capacity is unusable: a publisher retries as after an error.
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

    /// Records unseen errors of calls: a stopped driver records none.
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

    /// Without previous errors most attempts succeed, so the attempt is built only if needed.
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

    /// Journal time at which the last delay ends.
    pub(super) fn late_us(&self) -> u64 {
        self.late_us
    }

    /// Journal time of the last recovery.
    pub(super) fn ended_us(&self) -> u64 {
        self.ended_us
    }

    /// Journal time of the last unrecovered error.
    pub(super) fn last_us(&self) -> Option<u64> {
        self.open.values().map(|open| open.at_us).max()
    }
}

/// Effect of a fault on an attempt.
enum Stopped {
    /// Delays it by this many microseconds.
    For(u64),
    /// Fails it, so that it must be retried.
    Wholly(Attempt),
    /// Ends this watch, so that it must restart.
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

/// GetCapacity calls cannot be distinguished: classes with equal parameters cause the same call.
fn of_call(call: &CallFact) -> Attempt {
    match &call.volume {
        Some(volume) => Attempt::Call(call.method, volume.clone()),
        None => Attempt::Lasting,
    }
}
