//! What comes of looking at a value.

use super::failure::Failure;

/// What came of looking at a value: the failures, and how much of the schema fits. Of several schemas that do not
/// fit, the one that fits best is told about.
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
