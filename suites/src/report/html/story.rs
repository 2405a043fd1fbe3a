//! A stored run, judged again: what the record does not hold, because it would be too much for it.

use std::path::Path;

use harness::journal::Fact;
use harness::judge::{Failure, verdict};
use harness::plan::Plan;
use harness::record;

/// A run that did not pass.
pub(super) struct Story {
    /// The case as it was run.
    pub(super) plan: Plan,
    /// Everything that was observed.
    pub(super) facts: Vec<Fact>,
    /// Why it did not pass.
    pub(super) failure: Failure,
}

impl Story {
    /// Of the run in a folder; none if it is not there, can't be read by this version, or has passed.
    pub(super) fn load(folder: &Path) -> Option<Self> {
        let (plan, facts) = record::load(folder).ok()?;
        let failure = verdict(&plan, facts.iter().cloned()).failure()?.clone();
        Some(Story { plan, facts, failure })
    }
}
