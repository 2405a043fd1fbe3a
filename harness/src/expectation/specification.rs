//! The `specification` expectation: all rules of the specification hold. The judge checks them with the oracle.

use super::kind::{Expectation, Names, affects_state};
use crate::journal::Observation;

/// The expectation of a step whose `expect` is the word `specification`.
#[derive(Debug)]
pub(super) struct Specification;

impl Expectation for Specification {
    fn resolve(&mut self, _: &dyn Names, _: bool) -> Result<(), String> {
        Ok(())
    }

    fn is_negative(&self, _: bool) -> bool {
        true
    }

    fn depends_on(&self, _: &str) -> bool {
        true
    }

    fn is_affected_by(&self, what: &Observation) -> bool {
        // The rules depend on objects, on the driver's storage, and on which programs run.
        affects_state(what)
            || matches!(
                what,
                Observation::Call(_) | Observation::Process(_) | Observation::Metrics(_)
            )
    }
}
