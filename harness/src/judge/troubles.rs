//! Errors that systems have met and not got over yet: after one, a system may wait for long before it tries again, and does not say for
//! how long. What a fault only makes late comes when that says.

use std::collections::HashMap;
use std::sync::Arc;

use crate::journal::{CallFact, FaultFact, RequestFact, What};

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
    /// A request, as a fault names it: verb, resource and name.
    Request { client: Option<Arc<str>>, what: String },
    /// A CSI call about a volume: method and name.
    Call(String, String),
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
                    _ if request.verb == "watch" && request.revision.is_none() => Ending::Refused,
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

fn of_fault(fault: &FaultFact) -> Stopped {
    let (effect, what) = fault.what.split_once(": ").unwrap_or((&fault.what, ""));
    if let Some(milliseconds) = fault.delay_ms() {
        return Stopped::For(milliseconds.saturating_mul(1_000));
    }
    let request = || Attempt::Request {
        client: fault.client.clone(),
        what: what.to_owned(),
    };
    if effect.starts_with("watch ended") {
        return Stopped::Ended(request());
    }
    let is_undone = effect.starts_with("status ") || effect.starts_with("disconnected");
    Stopped::Wholly(match is_undone && !what.starts_with("create ") {
        true => request(),
        false => Attempt::Lasting,
    })
}

fn of_request(request: &RequestFact) -> Attempt {
    let name = request.name.iter().map(|name| format!(" {name}"));
    match (request.verb.as_str(), &request.name) {
        ("create", None) => Attempt::Lasting,
        (verb, _) => Attempt::Request {
            client: Some(request.client.clone()),
            what: format!("{verb} {}{}", request.resource, name.collect::<String>()),
        },
    }
}

/// Classes with the same parameters ask the same of GetCapacity.
fn of_call(call: &CallFact) -> Attempt {
    match &call.volume {
        Some(volume) => Attempt::Call(call.method.clone(), volume.clone()),
        None => Attempt::Lasting,
    }
}
