//! Validation errors of a value, and how well the value matches a schema.

use super::failure::Failure;

/// The validation errors of a value, and the number of passed checks (`fits`). If no schema in `anyOf` or `oneOf` matches, the errors of
/// the schema with the most passed checks are reported.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) failures: Vec<Failure>,
    pub(super) fits: usize,
}

impl Verdict {
    pub(super) fn is_valid(&self) -> bool {
        self.failures.is_empty()
    }

    pub(super) fn merge(&mut self, other: Self) {
        Failure::add(&mut self.failures, other.failures);
        self.fits += other.fits;
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        Failure::add(&mut self.failures, vec![failure]);
    }
}
