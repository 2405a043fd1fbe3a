//! Calls of the driver as the journal has them. Knows no defect.

use fake_csi::{Method, Rule};

use crate::journal::{Fact, What};

/// Whether a method of the driver was called.
pub(super) fn any_is_of(facts: &[Fact], method: Method) -> bool {
    facts.iter().any(|fact| match &fact.what {
        What::Call(call) => call.method == method,
        What::Answer(answer) => answer.call == method,
        _ => false,
    })
}

/// Whether the driver has refused a call with that gRPC code.
pub(super) fn any_is_refused(facts: &[Fact], code: &str) -> bool {
    facts.iter().any(|fact| match &fact.what {
        What::Call(call) => call.code == code,
        What::Answer(answer) => answer.code == code,
        _ => false,
    })
}

/// Whether a script of the driver would have been about one of the calls. Segments are not looked at.
pub(super) fn meet(facts: &[Fact], script: &Rule) -> bool {
    let is_about = |fact: &&Fact| match &fact.what {
        What::Call(call) => {
            let mut parameters = script.parameters.iter();
            call.method == script.method
                && parameters.all(|(name, value)| call.parameters.get(name) == Some(value))
        }
        // It does not tell the parameters.
        What::Answer(answer) => answer.call == script.method,
        _ => false,
    };
    facts.iter().filter(is_about).nth(script.skip as usize).is_some()
}
