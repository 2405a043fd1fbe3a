//! Errors from which systems have not recovered yet: afterwards a system may back off for an unknown time. Delays by faults end at a known
//! time.

use std::collections::HashMap;
use std::sync::Arc;

use fake_apiserver::{AppliedFault, Effect, Verb};
use fake_csi::Method;

use crate::journal::{CallFact, RequestFact, What, micros};

/// Errors without a later success of the same attempt.
#[derive(Debug, Default)]
pub(super) struct UnrecoveredErrors {
    open: HashMap<Attempt, OpenError>,
    /// Journal time of the last recovery.
    recovered_us: u64,
    /// Journal time at which the last delay ends.
    delay_ends_us: u64,
}

/// One or several errors of the same attempt.
#[derive(Debug)]
struct OpenError {
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
    Extender(String, String),
    /// An attempt that may have been carried out, or cannot be identified: a later success may belong to another attempt.
    Unidentified,
}

/// Outcome of an attempt.
#[derive(Clone, Copy)]
enum Outcome {
    Succeeded,
    /// The API server rejected the request because of its content: neither an error nor a recovery.
    Rejected,
    Failed,
}

impl Outcome {
    fn of(is_success: bool) -> Self {
        if is_success {
            Outcome::Succeeded
        } else {
            Outcome::Failed
        }
    }
}

impl UnrecoveredErrors {
    /// Processes a fact.
    pub(super) fn apply(&mut self, what: &What, at_us: u64) {
        match what {
            What::Fault(fault) => match fault_impact(fault) {
                FaultImpact::Delayed(microseconds) => {
                    self.delay_ends_us = self.delay_ends_us.max(at_us + microseconds);
                }
                FaultImpact::Failed(attempt) => self.fail(attempt, at_us),
                FaultImpact::WatchEnded(watch) => {
                    let open = self.open.entry(watch).or_insert(OpenError { at_us, times: 0 });
                    open.at_us = at_us;
                    open.times += 1;
                }
            },
            What::Request(request) => {
                let outcome = match request.code {
                    429 | 500.. => Outcome::Failed,
                    400.. => Outcome::Rejected,
                    // A watch from an expired revision starts with status 200, and its first event is the error.
                    _ if request.verb == Verb::Watch && request.revision.is_none() => Outcome::Rejected,
                    _ => Outcome::Succeeded,
                };
                self.record(outcome, at_us, || request_attempt(request));
            }
            What::Call(call) => {
                // A negative capacity is unusable: a publisher retries as after an error.
                let is_usable = call.available.is_none_or(|bytes| bytes >= 0);
                self.record(Outcome::of(call.is_answered() && is_usable), at_us, || {
                    call_attempt(call)
                });
            }
            What::Extender(call) => {
                let attempt = || Attempt::Extender(call.verb.clone(), call.pod.clone());
                self.record(Outcome::of(call.error.is_none()), at_us, attempt);
            }
            _ => {}
        }
    }

    /// Records unseen errors of calls: a stopped driver records none.
    pub(super) fn add_unrecorded(&mut self, at_us: u64) {
        self.fail(Attempt::Unidentified, at_us);
    }

    fn fail(&mut self, attempt: Attempt, at_us: u64) {
        let open = self.open.entry(attempt).or_insert(OpenError { at_us, times: 1 });
        open.at_us = at_us;
    }

    fn succeed(&mut self, attempt: &Attempt, at_us: u64) {
        if let Some(open) = self.open.get_mut(attempt) {
            open.times -= 1;
            if open.times == 0 {
                self.open.remove(attempt);
                self.recovered_us = at_us;
            }
        }
    }

    /// Without previous errors most attempts succeed, so the attempt is built only if needed.
    fn record(&mut self, outcome: Outcome, at_us: u64, attempt: impl FnOnce() -> Attempt) {
        match outcome {
            Outcome::Failed => self.fail(attempt(), at_us),
            Outcome::Succeeded if !self.open.is_empty() => match attempt() {
                Attempt::Unidentified => {}
                attempt => self.succeed(&attempt, at_us),
            },
            Outcome::Succeeded | Outcome::Rejected => {}
        }
    }

    /// Journal time at which the last delay ends.
    pub(super) fn delay_ends_us(&self) -> u64 {
        self.delay_ends_us
    }

    /// Journal time of the last recovery.
    pub(super) fn recovered_us(&self) -> u64 {
        self.recovered_us
    }

    /// Journal time of the last unrecovered error.
    pub(super) fn last_error_us(&self) -> Option<u64> {
        self.open.values().map(|open| open.at_us).max()
    }
}

/// Effect of a fault on an attempt.
enum FaultImpact {
    /// Delays the attempt by this many microseconds.
    Delayed(u64),
    /// Fails the attempt, which must be retried.
    Failed(Attempt),
    /// Ends this watch, which must restart.
    WatchEnded(Attempt),
}

fn fault_impact(fault: &AppliedFault) -> FaultImpact {
    if let Some(delay) = fault.delay() {
        return FaultImpact::Delayed(micros(delay));
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
        (Effect::EndWatch { after_events: 0 }, Some(watch)) => FaultImpact::WatchEnded(watch),
        (Effect::Status { .. } | Effect::Disconnect, Some(request)) => FaultImpact::Failed(request),
        _ => FaultImpact::Failed(Attempt::Unidentified),
    }
}

fn request_attempt(request: &RequestFact) -> Attempt {
    match (request.verb, &request.name) {
        (Verb::Create, None) => Attempt::Unidentified,
        (verb, name) => Attempt::Request {
            client: Some(request.client.clone()),
            verb,
            resource: request.resource.clone(),
            name: name.clone(),
        },
    }
}

/// GetCapacity calls cannot be distinguished: classes with equal parameters cause the same call.
fn call_attempt(call: &CallFact) -> Attempt {
    match &call.volume {
        Some(volume) => Attempt::Call(call.method, volume.clone()),
        None => Attempt::Unidentified,
    }
}
