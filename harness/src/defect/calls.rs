//! Queries of CSI calls in the journal. Does not know any defect.

use fake_csi::{Method, Rule};

use crate::journal::{Fact, What};

/// Whether the method was called.
pub(super) fn any_is_of(facts: &[Fact], method: Method) -> bool {
    facts.iter().any(|fact| match &fact.what {
        What::Call(call) => call.method == method,
        What::Answer(answer) => answer.call == method,
        _ => false,
    })
}

/// Whether a call failed with this gRPC code.
pub(super) fn any_is_refused(facts: &[Fact], code: &str) -> bool {
    facts.iter().any(|fact| match &fact.what {
        What::Call(call) => call.code == code,
        What::Answer(answer) => answer.code == code,
        _ => false,
    })
}

/// Whether a driver fault would have matched one of the calls. Ignores segments.
pub(super) fn meet(facts: &[Fact], script: &Rule) -> bool {
    let is_about = |fact: &&Fact| match &fact.what {
        What::Call(call) => {
            let mut parameters = script.parameters.iter();
            call.method == script.method
                && parameters.all(|(name, value)| call.parameters.get(name) == Some(value))
        }
        // The fact does not contain the parameters.
        What::Answer(answer) => answer.call == script.method,
        _ => false,
    };
    facts.iter().filter(is_about).nth(script.skip as usize).is_some()
}
