//! Errors that systems have met and not got over yet: after one, a system may wait for long before it tries again. Does not know for how
//! long.

use std::collections::HashMap;
use std::sync::Arc;

use crate::journal::{CallFact, FaultFact, RequestFact, What};

/// Errors after which nothing of the same kind has gone well, each with its journal time.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    open: HashMap<Attempt, u64>,
}

/// What was tried, and by whom.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Attempt {
    /// A request, as a fault names it: verb, resource and name.
    Request { client: Option<Arc<str>>, what: String },
    /// A CSI call: where, method, and what it was about.
    Call(Option<String>, String, String),
    /// A question to an extender: verb and pod.
    Question(String, String),
    /// A request that may have been carried out, or whose object has no name yet: what goes well later may be another one.
    Lasting,
}

impl Troubles {
    /// Takes one fact in.
    pub(super) fn apply(&mut self, what: &What, at_us: u64) {
        match what {
            What::Fault(fault) => {
                if let Some(attempt) = of_fault(fault) {
                    self.open.insert(attempt, at_us);
                }
            }
            What::Request(request) => {
                let has_failed = request.code == 429 || request.code >= 500;
                self.note(of_request(request), has_failed || request.injected, at_us);
            }
            What::Call(call) => self.note(of_call(call), !call.is_answered(), at_us),
            What::Extender(question) => {
                let attempt = Attempt::Question(question.verb.clone(), question.pod.clone());
                self.note(attempt, question.error.is_some(), at_us);
            }
            _ => {}
        }
    }

    fn note(&mut self, attempt: Attempt, has_failed: bool, at_us: u64) {
        match (has_failed, &attempt) {
            (true, _) => drop(self.open.insert(attempt, at_us)),
            (false, Attempt::Lasting) => {}
            (false, _) => drop(self.open.remove(&attempt)),
        }
    }

    /// Journal time of the last one.
    pub(super) fn last_us(&self) -> Option<u64> {
        self.open.values().copied().max()
    }
}

/// The attempt that a fault has stopped; none: it has only made something late.
fn of_fault(fault: &FaultFact) -> Option<Attempt> {
    let (effect, what) = fault.what.split_once(": ")?;
    let is_delay = effect.starts_with("delayed by ") || effect.starts_with("watch held");
    let is_known = effect.starts_with("status ") || effect.starts_with("disconnected");
    match is_delay {
        true => None,
        false if !is_known || what.starts_with("create ") => Some(Attempt::Lasting),
        false => Some(Attempt::Request {
            client: fault.client.clone(),
            what: what.to_owned(),
        }),
    }
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

fn of_call(call: &CallFact) -> Attempt {
    let about = match &call.volume {
        Some(volume) => volume.clone(),
        None => format!("{:?} {:?}", call.segment, call.parameters),
    };
    Attempt::Call(call.node.clone(), call.method.clone(), about)
}
