//! Runs each case many times and counts how often it fails with which words: what an entry for a known failure has to say.

use std::collections::BTreeMap;
use std::sync::Arc;

use harness::manifest::KnownFailure;
use harness::plan::Plan;
use tokio::task::JoinSet;

use crate::session::{CaseResult, Ended, Session};

/// What became of one case in all its runs.
#[derive(Debug, Default)]
pub struct Measured {
    /// Runs with a verdict.
    pub runs: u32,
    /// Runs that the machine was too busy for, or that could not be made.
    pub open: u32,
    /// The failures, by words that find them again.
    pub failures: BTreeMap<String, Seen>,
    /// Runs with a finding, by its rule and words.
    pub findings: BTreeMap<(&'static str, String), u32>,
    /// Why the case is skipped, if it is.
    pub skipped: Option<String>,
}

/// One kind of failure of a case.
#[derive(Debug, Default)]
pub struct Seen {
    /// Runs that failed so.
    pub failed: u32,
    /// The entry that excuses it, if one does.
    pub known: Option<KnownFailure>,
}

impl Measured {
    fn count(&mut self, result: &CaseResult) {
        let (explained, known) = match &result.ended {
            Ended::Passed | Ended::Surprising(_) => (None, None),
            Ended::Failed(explained) | Ended::Flaky(_, explained) => (Some(explained), None),
            Ended::Known(known, explained) => (Some(explained), Some(known)),
            Ended::Inconclusive(_) | Ended::Broken(_) => {
                self.open += 1;
                return;
            }
            Ended::Skipped(why) => {
                self.skipped = Some(why.clone());
                return;
            }
        };
        self.runs += 1;
        for finding in &result.findings {
            *self
                .findings
                .entry((finding.rule, finding.text.clone()))
                .or_default() += 1;
        }
        if let Some(explained) = explained {
            let seen = self.failures.entry(explained.said.lasting()).or_default();
            seen.failed += 1;
            seen.known = known.cloned();
        }
    }
}

/// Runs every case so many times. Runs that fail are kept where the session keeps them, each time in a folder of its own; `each` hears of
/// every run.
pub async fn measure(
    session: &Session,
    plans: Vec<Plan>,
    times: u32,
    mut each: impl FnMut(&CaseResult),
) -> BTreeMap<String, Measured> {
    let mut tasks = JoinSet::new();
    for time in 1..=times {
        let session = Arc::new(Session {
            keep: session.keep.as_ref().map(|folder| folder.join(time.to_string())),
            attempts: 1,
            ..session.clone()
        });
        for plan in plans.clone() {
            let session = session.clone();
            tasks.spawn(async move { session.run_one(plan).await });
        }
    }
    let mut measured: BTreeMap<String, Measured> = BTreeMap::new();
    while let Some(joined) = tasks.join_next().await {
        match joined {
            Ok(result) => {
                each(&result);
                measured
                    .entry(result.plan.id().to_owned())
                    .or_default()
                    .count(&result);
            }
            // Ours, not a system's: those panic inside tasks of their own.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    measured
}
