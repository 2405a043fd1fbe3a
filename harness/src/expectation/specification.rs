//! `expect: specification`: all that the specification demands. What that is, and whether it is so, the judge learns from the oracle.

use super::kind::{Expectation, Names, moves_state};
use crate::journal::What;

/// The word in the place of a list of expectations.
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

    fn is_moved_by(&self, what: &What) -> bool {
        // The storage of the driver counts, and which programs run.
        moves_state(what) || matches!(what, What::Call(_) | What::Process(_) | What::Metrics(_))
    }
}
