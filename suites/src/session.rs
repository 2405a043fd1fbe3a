//! Running many cases at once, and telling the caller as each one ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use harness::judge::Verdict;
use harness::manifest::{KnownFailure, Manifest};
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
    /// Where they come from, if they are not built in: decides what is skipped and which failures are known.
    pub manifest: Option<Manifest>,
    /// Bounds and poll interval.
    pub options: RunOptions,
    /// Cases at the same time.
    pub jobs: usize,
    /// How often a case that fails is run in all. One that passes then is flaky, and not passed.
    pub attempts: u32,
    /// Where the runs of failed cases are kept; none: nowhere.
    pub keep: Option<PathBuf>,
    /// The command that runs one case again; the id is added to it.
    pub rerun: String,
}

/// How a case ended.
pub enum Ended {
    /// Passed.
    Passed,
    /// Passed, though it is known to fail.
    Surprising(KnownFailure),
    /// Failed.
    Failed(Explained),
    /// Failed, as is known.
    Known(KnownFailure, Explained),
    /// Failed, and then passed in an attempt.
    Flaky(u32, Explained),
    /// Was late on a machine that was too busy to tell.
    Inconclusive(Explained),
    /// Is not for these systems.
    Skipped(String),
    /// Could not be run.
    Broken(StartError),
}

/// A failure in words.
#[derive(Clone)]
pub struct Explained {
    /// The whole text, for a terminal.
    pub text: String,
    /// What went wrong, in one line.
    pub summary: String,
    /// Line of the case file where the step is.
    pub line: u64,
    /// Where the run is kept.
    pub folder: Option<PathBuf>,
}

impl Ended {
    /// The word that reports use.
    pub fn word(&self) -> &'static str {
        match self {
            Ended::Passed | Ended::Surprising(_) => "pass",
            Ended::Failed(_) => "fail",
            Ended::Known(..) => "known-failure",
            Ended::Flaky(..) => "flaky",
            Ended::Inconclusive(_) => "inconclusive",
            Ended::Skipped(_) => "skip",
            Ended::Broken(_) => "error",
        }
    }

    /// What went wrong, where something did.
    pub fn explained(&self) -> Option<&Explained> {
        match self {
            Ended::Failed(explained)
            | Ended::Known(_, explained)
            | Ended::Flaky(_, explained)
            | Ended::Inconclusive(explained) => Some(explained),
            Ended::Passed | Ended::Surprising(_) | Ended::Skipped(_) | Ended::Broken(_) => None,
        }
    }
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
        let (ended, elapsed) = self.end_of(&plan).await;
        CaseResult { plan, ended, elapsed }
    }

    async fn end_of(&self, plan: &Arc<Plan>) -> (Ended, Duration) {
        if let Some(why) = self.manifest.as_ref().and_then(|manifest| manifest.skips(plan)) {
            return (Ended::Skipped(why), Duration::ZERO);
        }
        let (first, mut elapsed) = self.attempt(plan).await;
        let Ended::Failed(explained) = first else {
            return (self.with_known(plan, first), elapsed);
        };
        for attempt in 2..=self.attempts {
            let (again, took) = self.attempt(plan).await;
            elapsed += took;
            if matches!(again, Ended::Passed) {
                return (Ended::Flaky(attempt, explained), elapsed);
            }
        }
        (self.with_known(plan, Ended::Failed(explained)), elapsed)
    }

    async fn attempt(&self, plan: &Arc<Plan>) -> (Ended, Duration) {
        match harness::run(plan.clone(), &self.systems, self.options).await {
            Ok(outcome) => (self.ended(plan, &outcome), outcome.elapsed),
            Err(error) => (Ended::Broken(error), Duration::ZERO),
        }
    }

    /// What is known of a case changes what its end means, as long as that is excused.
    fn with_known(&self, plan: &Plan, ended: Ended) -> Ended {
        let manifest = self.manifest.as_ref();
        let Some(known) = manifest.and_then(|manifest| manifest.known_failure(plan.id())) else {
            return ended;
        };
        match ended {
            Ended::Passed if !known.sometimes => Ended::Surprising(known.clone()),
            Ended::Failed(explained) if known.is_excused() => Ended::Known(known.clone(), explained),
            other => other,
        }
    }

    fn ended(&self, plan: &Plan, outcome: &Outcome) -> Ended {
        let Some(found) = outcome.verdict.failure() else {
            return Ended::Passed;
        };
        let (mut files, mut kept) = (Vec::new(), None);
        if let Some(root) = &self.keep {
            match record::save(root, plan, &outcome.journal, &outcome.logs) {
                Ok(folder) => {
                    files.push(format!("judge   cargo xtask judge {}", folder.display()));
                    let logs = outcome.logs.iter().map(|(client, _)| format!("  {client}.log"));
                    files.push(format!(
                        "files   {}/journal.jsonl  scenario.yaml{}",
                        folder.display(),
                        logs.collect::<String>()
                    ));
                    kept = Some(folder);
                }
                Err(error) => files.push(format!("files   could not be written: {error}")),
            }
        }
        let rerun = format!("{} {}", self.rerun, plan.id());
        let explained = Explained {
            text: explain_failure(plan, outcome, rerun, files).unwrap_or_default(),
            summary: found.summary.lines().next().unwrap_or_default().to_owned(),
            line: plan.steps.get(found.step).map_or(1, |step| step.line),
            folder: kept,
        };
        match outcome.verdict {
            Verdict::Inconclusive(_) => Ended::Inconclusive(explained),
            _ => Ended::Failed(explained),
        }
    }
}

/// The text of a failure; none for a pass.
pub fn explain_failure(plan: &Plan, outcome: &Outcome, rerun: String, files: Vec<String>) -> Option<String> {
    let context = Context {
        requirements: Catalogue::load().of(plan),
        rerun,
        files,
    };
    Some(failure(
        plan,
        &outcome.journal.since(0),
        outcome.verdict.failure()?,
        &context,
        Paint::of(&std::io::stdout()),
    ))
}
