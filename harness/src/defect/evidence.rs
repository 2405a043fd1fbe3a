//! Queries of CSI calls and API requests in the journal. Does not know any defect.

use fake_csi::{Method, Rule};

use crate::client_name::HARNESS_CLIENTS;
use crate::journal::{Fact, Observation};

pub(super) fn contains_call_of(facts: &[Fact], method: Method) -> bool {
    facts.iter().any(|fact| match &fact.what {
        Observation::Call(call) => call.method == method,
        Observation::Answer(answer) => answer.call == method,
        _ => false,
    })
}

/// Whether the journal contains a CSI call that failed with this gRPC code.
pub(super) fn any_is_refused(facts: &[Fact], code: &str) -> bool {
    facts.iter().any(|fact| match &fact.what {
        Observation::Call(call) => call.code == code,
        Observation::Answer(answer) => answer.code == code,
        _ => false,
    })
}

/// Whether a driver fault rule would have applied to one of the recorded calls. Ignores the rule's segment.
pub(super) fn matches_any_call(facts: &[Fact], script: &Rule) -> bool {
    let is_about = |fact: &&Fact| match &fact.what {
        Observation::Call(call) => {
            let mut parameters = script.parameters.iter();
            call.method == script.method
                && parameters.all(|(name, value)| call.parameters.get(name) == Some(value))
        }
        // A `HarnessCallFact` does not contain the call's parameters, so only the method is compared.
        Observation::Answer(answer) => answer.call == script.method,
        _ => false,
    };
    facts.iter().filter(is_about).nth(script.skip as usize).is_some()
}

/// Whether a client other than the harness sent a request for the resource or received a watch event of it. A fault fact matches every
/// resource, because it may not contain the request.
pub(super) fn contains_access_to(facts: &[Fact], resource: &str) -> bool {
    let is_other = |client: &str| !HARNESS_CLIENTS.contains(&client);
    facts.iter().any(|fact| match &fact.what {
        Observation::Request(request) => {
            request.resource.split('/').next() == Some(resource) && is_other(&request.client)
        }
        Observation::Delivery(delivery) => *delivery.resource == *resource && is_other(&delivery.client),
        Observation::Fault(fault) => fault.client.as_deref().is_some_and(is_other),
        _ => false,
    })
}
