//! Loads and evaluates the stored run of a case, to show details that the report does not contain.

use std::path::Path;

use harness::journal::Fact;
use harness::judge::{Failure, verdict};
use harness::plan::Plan;
use harness::record;

/// A stored run that did not pass.
pub(super) struct StoredRun {
    /// The case as it was run.
    pub(super) plan: Plan,
    pub(super) facts: Vec<Fact>,
    pub(super) failure: Failure,
}

impl StoredRun {
    /// Loads the run in a folder; `None` if the run does not exist, has another format version, or passed.
    pub(super) fn load(folder: &Path) -> Option<Self> {
        let (plan, facts) = record::load(folder).ok()?;
        let failure = verdict(&plan, facts.iter().cloned()).failure()?.clone();
        Some(StoredRun { plan, facts, failure })
    }
}
