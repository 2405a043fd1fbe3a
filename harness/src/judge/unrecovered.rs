//! Errors from which programs have not recovered yet. After such an error a program may back off for an unknown time, whereas a delay by a
//! fault rule ends at a known time.

use std::collections::HashMap;
use std::sync::Arc;

use fake_apiserver::{AppliedFault, Effect, Verb};
use fake_csi::Method;

use crate::journal::{CallFact, Observation, RequestFact, to_micros};

/// API requests and CSI calls that failed and have not succeeded since.
#[derive(Debug, Default)]
pub(super) struct UnrecoveredErrors {
    open: HashMap<Attempt, OpenError>,
    /// Journal time of the last recovery from an error.
    recovered_us: u64,
    /// Journal time at which the last delay by a fault rule ends.
    delay_ends_us: u64,
}

/// Failures of one API request or CSI call that has not succeeded since.
#[derive(Debug)]
struct OpenError {
    /// Journal time of the last failure.
    at_us: u64,
    /// Number of successes until the failure counts as recovered: one for each ended watch of the resource, otherwise 1.
    times: u32,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Attempt {
    /// An API request. `resource` is empty for non-resource paths; a create request has no name.
    Request {
        client: Option<Arc<str>>,
        verb: Verb,
        resource: String,
        name: Option<String>,
    },
    /// A CSI call for a volume: method and volume name.
    Call(Method, String),
    /// A call of a scheduler extender: verb and pod.
    Extender(String, String),
    /// An attempt that no later success can be assigned to: without a name, or possibly executed despite the error.
    Unidentified,
}

#[derive(Clone, Copy)]
enum Outcome {
    Succeeded,
    /// The API server rejected the request because of its content. Counts neither as an error nor as a recovery.
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
    pub(super) fn apply(&mut self, what: &Observation, at_us: u64) {
        match what {
            Observation::Fault(fault) => match fault_impact(fault) {
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
            Observation::Request(request) => {
                let outcome = match request.code {
                    429 | 500.. => Outcome::Failed,
                    400.. => Outcome::Rejected,
                    // A watch from an expired revision starts with status 200, and its first event is the error.
                    _ if request.verb == Verb::Watch && request.revision.is_none() => Outcome::Rejected,
                    _ => Outcome::Succeeded,
                };
                self.record(outcome, at_us, || request_attempt(request));
            }
            Observation::Call(call) => {
                // A publisher cannot use a negative capacity and retries as after an error.
                let is_usable = call.available.is_none_or(|bytes| bytes >= 0);
                self.record(
                    Outcome::of(call.has_received_response() && is_usable),
                    at_us,
                    || call_attempt(call),
                );
            }
            Observation::Extender(call) => {
                let attempt = || Attempt::Extender(call.verb.clone(), call.pod.clone());
                self.record(Outcome::of(call.error.is_none()), at_us, attempt);
            }
            _ => {}
        }
    }

    /// Adds errors of calls that the journal cannot contain, because a stopped driver records no calls.
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

    /// Records the outcome of an attempt. Rarely calls `attempt`, because most attempts succeed while no error is open.
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

    pub(super) fn delay_ends_us(&self) -> u64 {
        self.delay_ends_us
    }

    pub(super) fn recovered_us(&self) -> u64 {
        self.recovered_us
    }

    pub(super) fn last_error_us(&self) -> Option<u64> {
        self.open.values().map(|open| open.at_us).max()
    }
}

enum FaultImpact {
    /// The request or call is delayed by this many microseconds.
    Delayed(u64),
    /// The request or call fails and must be retried.
    Failed(Attempt),
    WatchEnded(Attempt),
}

fn fault_impact(fault: &AppliedFault) -> FaultImpact {
    if let Some(delay) = fault.delay() {
        return FaultImpact::Delayed(to_micros(delay));
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

/// Identifies what a CSI call attempted. GetCapacity calls are unidentified, because classes with equal parameters cause equal calls.
fn call_attempt(call: &CallFact) -> Attempt {
    match &call.volume {
        Some(volume) => Attempt::Call(call.method, volume.clone()),
        None => Attempt::Unidentified,
    }
}
