//! Running many cases at once, and telling the caller as each one ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use harness::judge::Verdict;
use harness::plan::Plan;
use harness::report::{Context, Paint, failure};
use harness::system::Systems;
use harness::{Outcome, RunOptions, StartError, record};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::Catalogue;

/// How to run the cases.
pub struct Session {
    /// The systems under test.
    pub systems: Systems,
    /// Bounds and poll interval.
    pub options: RunOptions,
    /// Cases at the same time.
    pub jobs: usize,
    /// Where the runs of failed cases are kept; none: nowhere.
    pub keep: Option<PathBuf>,
    /// The command that runs one case again; the id is added to it.
    pub rerun: String,
}

/// How a case ended.
pub enum Ended {
    /// Passed.
    Passed,
    /// Failed; the text explains it.
    Failed(String),
    /// Could not be run.
    Broken(StartError),
}

/// One case and how it ended.
pub struct CaseResult {
    /// The case.
    pub plan: Arc<Plan>,
    /// How it ended.
    pub ended: Ended,
    /// From the first server to the verdict.
    pub elapsed: Duration,
}

impl Session {
    /// Runs all cases and calls `each` as they end. Results come back in the order of the cases.
    pub async fn run(
        self: Arc<Self>,
        plans: Vec<Plan>,
        mut each: impl FnMut(&CaseResult),
    ) -> Vec<CaseResult> {
        let permits = Arc::new(Semaphore::new(self.jobs.max(1)));
        let mut tasks = JoinSet::new();
        for (index, plan) in plans.into_iter().enumerate() {
            let (session, permits) = (self.clone(), permits.clone());
            tasks.spawn(async move {
                // The semaphore is never closed, and a missing permit would only mean more at once.
                let _permit = permits.acquire_owned().await.ok();
                (index, session.run_one(plan).await)
            });
        }
        let mut results = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((index, result)) => {
                    each(&result);
                    results.push((index, result));
                }
                // Ours, not a system's: those panic inside tasks of their own.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Runs one case.
    pub async fn run_one(&self, plan: Plan) -> CaseResult {
        let plan = Arc::new(plan);
        let (ended, elapsed) = match harness::run(plan.clone(), &self.systems, self.options).await {
            Ok(outcome) => (self.ended(&plan, &outcome), outcome.elapsed),
            Err(error) => (Ended::Broken(error), Duration::ZERO),
        };
        CaseResult { plan, ended, elapsed }
    }

    fn ended(&self, plan: &Plan, outcome: &Outcome) -> Ended {
        if matches!(outcome.verdict, Verdict::Pass) {
            return Ended::Passed;
        }
        let files = match self
            .keep
            .as_deref()
            .map(|root| record::save(root, plan, &outcome.journal))
        {
            Some(Ok(folder)) => vec![
                format!("judge   cargo xtask judge {}", folder.display()),
                format!("files   {}/journal.jsonl  scenario.yaml", folder.display()),
            ],
            Some(Err(error)) => vec![format!("files   could not be written: {error}")],
            None => Vec::new(),
        };
        let rerun = format!("{} {}", self.rerun, plan.id());
        Ended::Failed(explain_failure(plan, outcome, rerun, files).unwrap_or_default())
    }
}

/// The text of a failure; none for a pass.
pub fn explain_failure(plan: &Plan, outcome: &Outcome, rerun: String, files: Vec<String>) -> Option<String> {
    let Verdict::Fail(found) = &outcome.verdict else {
        return None;
    };
    let context = Context {
        requirements: Catalogue::load().of(plan),
        rerun,
        files,
    };
    Some(failure(
        plan,
        &outcome.journal.since(0),
        found,
        &context,
        Paint::of(&std::io::stdout()),
    ))
}
