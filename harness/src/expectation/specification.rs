//! The `specification` expectation: everything that the specification requires. The judge evaluates it with the oracle.

use super::kind::{Expectation, Names, affects_state};
use crate::journal::What;

/// Used instead of a list of expectations.
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

    fn is_affected_by(&self, what: &What) -> bool {
        // Driver storage and running programs matter as well.
        affects_state(what) || matches!(what, What::Call(_) | What::Process(_) | What::Metrics(_))
    }
}
