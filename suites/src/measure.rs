//! Runs each case many times and counts its failures per message, as input for `knownFailures` entries.

use std::collections::BTreeMap;
use std::sync::Arc;

use harness::manifest::KnownFailure;
use harness::plan::Plan;
use tokio::task::JoinSet;

use crate::session::{CaseOutcome, CaseResult, Session};

/// Outcomes of all runs of a case.
#[derive(Debug, Default)]
pub struct Measured {
    /// Number of runs with a verdict.
    pub runs: u32,
    /// Number of inconclusive runs and runs that could not start.
    pub without_verdict: u32,
    /// Failures, by their text with wildcards for everything that differs between runs.
    pub failures: BTreeMap<String, ObservedFailure>,
    /// Number of runs with a finding, by its rule and its text with wildcards.
    pub findings: BTreeMap<(&'static str, String), u32>,
    /// Reason that the case is skipped; `None` if it was run.
    pub skipped: Option<String>,
}

/// A failure of a case, with the number of runs that failed this way.
#[derive(Debug, Default)]
pub struct ObservedFailure {
    /// Number of runs that failed this way.
    pub failed: u32,
    /// The manifest entry that excuses the failure, if any.
    pub known: Option<KnownFailure>,
}

impl Measured {
    fn count(&mut self, result: &CaseResult) {
        let (explained, known) = match &result.outcome {
            CaseOutcome::Passed | CaseOutcome::UnexpectedPass(_) => (None, None),
            CaseOutcome::Failed(explained) | CaseOutcome::Flaky(_, explained) => (Some(explained), None),
            CaseOutcome::KnownFailure(known, explained) => (Some(explained), Some(known)),
            CaseOutcome::Inconclusive(_) | CaseOutcome::NotRun(_) => {
                self.without_verdict += 1;
                return;
            }
            CaseOutcome::Skipped(why) => {
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
            let seen = self
                .failures
                .entry(explained.failure_text.stable_pattern())
                .or_default();
            seen.failed += 1;
            seen.known = known.cloned();
        }
    }
}

/// Runs every case N times. Failed runs are stored in the folder of the session, in a subfolder for each of the N times. `each` is called
/// after every run.
pub async fn measure(
    session: &Session,
    plans: Vec<Plan>,
    times: u32,
    mut each: impl FnMut(&CaseResult),
) -> BTreeMap<String, Measured> {
    let mut tasks = JoinSet::new();
    for time in 1..=times {
        let session = Arc::new(Session {
            runs_folder: session
                .runs_folder
                .as_ref()
                .map(|folder| folder.join(time.to_string())),
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
            // A panic here is a bug of the harness: a panic in a system under test ends only the task of that system.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    measured
}
