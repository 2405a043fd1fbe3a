//! Runs many cases concurrently, with a callback for each result.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use harness::invocation::program;
use harness::journal::{Fact, Observation, ProcessEvent};
use harness::judge::{Failure, Finding, SpecRule, Verdict, findings};
use harness::machine;
use harness::manifest::{KnownFailure, Manifest};
use harness::plan::Plan;
use harness::report::{Context, Paint, errors_or_last_lines, format_failure, logged_errors};
use harness::scenario::Role;
use harness::system::Systems;
use harness::{LiveCluster, Outcome, RunOptions, StartError, record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::failure_text::FailureText;
use crate::known::{KnownFailureMatch, match_known_failure};
use crate::shell::quoted;
use crate::{Catalogue, JobSlots};

/// Configuration for running cases.
#[derive(Clone)]
pub struct Session {
    /// The systems under test.
    pub systems: Systems,
    /// Manifest of the systems, with features and known failures; `None` for built-in systems.
    pub manifest: Option<Manifest>,
    /// Timeouts and poll interval.
    pub options: RunOptions,
    /// Job slots, which limit the number of concurrent cases.
    pub job_slots: Arc<JobSlots>,
    /// Maximum number of attempts of a failing case. A pass after a failure is flaky, not passed.
    pub attempts: u32,
    /// Folder for the runs of cases that do not pass; `None` to store none.
    pub runs_folder: Option<PathBuf>,
    /// Whether to store the runs of all cases, even of passed cases.
    pub keep_passed: bool,
    /// The command that runs a single case, without the id of the case.
    pub rerun: String,
}

/// The result of a case.
pub enum CaseOutcome {
    /// The case passed.
    Passed,
    /// The case passed, although the manifest expects a failure.
    UnexpectedPass(KnownFailure),
    /// The case failed.
    Failed(Explanation),
    /// The case failed with a known failure of the manifest.
    KnownFailure(KnownFailure, Explanation),
    /// The case failed, then passed in the attempt of this number.
    Flaky(u32, Explanation),
    /// The case timed out on a machine that was too busy to decide.
    Inconclusive(Explanation),
    /// The case does not apply to the systems under test. Contains the reason.
    Skipped(String),
    /// The case could not be run.
    NotRun(StartError),
}

/// An explained failure.
#[derive(Clone)]
pub struct Explanation {
    /// The full text of the explanation, for a terminal.
    pub text: String,
    /// The text of the failure, to which patterns of known failures are compared.
    pub failure_text: FailureText,
    /// The last lines of the programs' logs; only error lines, if there are any.
    pub log: Vec<String>,
    /// The violated rule of the specification; `None` for an expectation of the case.
    pub rule: Option<&'static SpecRule>,
    /// Line of the step in the case file.
    pub line: u64,
    /// Kind of the deciding fact.
    pub cause: Cause,
    /// Whether a system under test never became ready.
    pub never_ready: bool,
    /// The role of a program whose exit decided the failure.
    pub exited_role: Option<Role>,
}

/// The kind of fact that decided a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A forbidden fact occurred.
    Violation,
    /// An expected fact did not occur in time.
    Timeout,
    /// A system under test exited, or never became ready.
    Crash,
}

impl Cause {
    /// The kind of the fact that decided a failure.
    fn of(failure: &Failure, facts: &[Fact]) -> Self {
        let decided = facts.iter().find(|fact| fact.seq == failure.decided_by);
        match decided.map(|fact| &fact.what) {
            Some(Observation::Process(_)) => Cause::Crash,
            Some(Observation::Bound(_)) => Cause::Timeout,
            _ => Cause::Violation,
        }
    }

    /// The spelling of the cause in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::Violation => "violation",
            Cause::Timeout => "timeout",
            Cause::Crash => "crash",
        }
    }
}

impl CaseOutcome {
    /// The explanation, if the case did not pass.
    pub fn explained(&self) -> Option<&Explanation> {
        match self {
            CaseOutcome::Failed(explained)
            | CaseOutcome::KnownFailure(_, explained)
            | CaseOutcome::Flaky(_, explained)
            | CaseOutcome::Inconclusive(explained) => Some(explained),
            CaseOutcome::Passed
            | CaseOutcome::UnexpectedPass(_)
            | CaseOutcome::Skipped(_)
            | CaseOutcome::NotRun(_) => None,
        }
    }
}

/// A case and its result.
pub struct CaseResult {
    /// The case.
    pub plan: Arc<Plan>,
    /// The result of the case.
    pub outcome: CaseOutcome,
    /// Duration from the start of the first server to the verdict, over all attempts.
    pub elapsed: Duration,
    /// Number of repetitions without concurrent cases, because the result was inconclusive.
    pub repeated: u32,
    /// Violations of rules that the harness checks in every case, whatever the case tests.
    pub findings: Vec<Finding>,
    /// Folder of the stored run. With several attempts, the folder of the first attempt, to which the explanation refers.
    pub folder: Option<PathBuf>,
    /// The error if the run could not be stored.
    pub store_error: Option<String>,
}

/// The result of one attempt to run a case.
struct Attempt {
    outcome: CaseOutcome,
    findings: Vec<Finding>,
    elapsed: Duration,
    folder: Option<PathBuf>,
    store_error: Option<String>,
}

impl Attempt {
    fn into_result(self, plan: Arc<Plan>, repeated: u32) -> CaseResult {
        CaseResult {
            plan,
            outcome: self.outcome,
            findings: self.findings,
            elapsed: self.elapsed,
            repeated,
            folder: self.folder,
            store_error: self.store_error,
        }
    }

    /// An attempt without a run, because the case was skipped or could not be run.
    fn without_run(outcome: CaseOutcome) -> Self {
        Attempt {
            outcome,
            findings: Vec::new(),
            elapsed: Duration::ZERO,
            folder: None,
            store_error: None,
        }
    }
}

/// Maximum number of exclusive repetitions of an inconclusive case: if all repetitions are, other processes keep the machine busy.
const MAX_REPETITIONS: u32 = 2;

impl Session {
    /// A session of one attempt per case and at most `jobs` concurrent cases, which stores no runs.
    pub fn new(
        systems: Systems,
        options: RunOptions,
        manifest: Option<Manifest>,
        jobs: usize,
        rerun: String,
    ) -> Self {
        Session {
            systems,
            manifest,
            options,
            job_slots: Arc::new(JobSlots::of(jobs)),
            attempts: 1,
            runs_folder: None,
            keep_passed: false,
            rerun,
        }
    }

    /// Runs all cases and passes results to `each` until `each` returns `Break`. Cases that run at that moment end without a result.
    pub async fn run(self: Arc<Self>, plans: Vec<Plan>, mut each: impl FnMut(CaseResult) -> ControlFlow<()>) {
        let mut tasks = JoinSet::new();
        for plan in plans {
            let session = self.clone();
            tasks.spawn(async move { session.run_one(plan).await });
        }
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok(result) => {
                    if each(result).is_break() {
                        return tasks.shutdown().await;
                    }
                }
                // A panic here is a bug of the harness: a panic in a system under test ends only the task of that system.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
    }

    /// Runs one case, concurrently with others. Does not repeat an inconclusive case.
    pub async fn run_concurrently(&self, plan: Plan) -> CaseResult {
        let plan = self.adapt_to_driver(plan);
        let attempts = self.attempt_concurrently(&plan).await;
        attempts.into_result(plan, 0)
    }

    async fn attempt_concurrently(&self, plan: &Arc<Plan>) -> Attempt {
        let _slot = self.job_slots.shared().await;
        self.all_attempts(plan).await
    }

    /// Runs one case. Repeats an inconclusive case in the exclusive job slot.
    pub async fn run_one(&self, plan: Plan) -> CaseResult {
        let plan = self.adapt_to_driver(plan);
        let mut attempts = self.attempt_concurrently(&plan).await;
        let mut repeated = 0;
        while matches!(attempts.outcome, CaseOutcome::Inconclusive(_)) && repeated < MAX_REPETITIONS {
            let _slot = self.job_slots.exclusive().await;
            let before = attempts.elapsed;
            attempts = self.all_attempts(&plan).await;
            attempts.elapsed += before;
            repeated += 1;
        }
        attempts.into_result(plan, repeated)
    }

    /// Runs one case once, and leaves the cluster running. No cluster is returned if the case was skipped or could not be run.
    pub async fn run_and_leave_running(&self, plan: Plan) -> (CaseResult, Option<LiveCluster>) {
        let plan = self.adapt_to_driver(plan);
        let (mut attempt, live) = match self.skipped_attempt(&plan) {
            Some(skipped) => (skipped, None),
            None => match harness::run_and_keep(plan.clone(), &self.systems, self.options.clone()).await {
                Ok((outcome, live)) => (
                    self.evaluated(&plan, &outcome, self.runs_folder.as_deref()),
                    Some(live),
                ),
                Err(error) => (Attempt::without_run(CaseOutcome::NotRun(error)), None),
            },
        };
        attempt.outcome = self.apply_known_failures(&plan, attempt.outcome);
        (attempt.into_result(plan, 0), live)
    }

    /// The case with the names of the driver under test. A case that cannot be adapted is returned unchanged, and is skipped later.
    fn adapt_to_driver(&self, plan: Plan) -> Arc<Plan> {
        let adapted = self.manifest.as_ref().map(|manifest| manifest.adapt(&plan));
        Arc::new(match adapted {
            Some(Ok(adapted)) => adapted,
            Some(Err(_)) | None => plan,
        })
    }

    fn skipped_attempt(&self, plan: &Plan) -> Option<Attempt> {
        let by_systems = self
            .manifest
            .as_ref()
            .and_then(|manifest| manifest.skip_reason(plan));
        let by_server = || self.systems.api_server.as_ref()?.skip_reason(plan);
        let why = by_systems.or_else(by_server)?;
        Some(Attempt::without_run(CaseOutcome::Skipped(why)))
    }

    async fn all_attempts(&self, plan: &Arc<Plan>) -> Attempt {
        if let Some(skipped) = self.skipped_attempt(plan) {
            return skipped;
        }
        let mut first = self.attempt(plan, self.runs_folder.as_deref()).await;
        first.outcome = self.apply_known_failures(plan, first.outcome);
        let CaseOutcome::Failed(explained) = first.outcome else {
            return first;
        };
        for attempt in 2..=self.attempts {
            // Further attempts are not stored, because the explanation refers to the first attempt.
            let again = self.attempt(plan, None).await;
            first.elapsed += again.elapsed;
            if matches!(again.outcome, CaseOutcome::Passed) {
                first.outcome = CaseOutcome::Flaky(attempt, explained);
                return first;
            }
        }
        first.outcome = CaseOutcome::Failed(explained);
        first
    }

    async fn attempt(&self, plan: &Arc<Plan>, runs_folder: Option<&Path>) -> Attempt {
        let run = Box::pin(harness::run(plan.clone(), &self.systems, self.options.clone()));
        match machine::with_shortage(run).await {
            // The machine ran out of a resource, such as file descriptors. The shortage may have caused the failure.
            (Ok(outcome), Some(shortage)) if outcome.verdict.failure().is_some() => {
                Attempt::without_run(CaseOutcome::NotRun(shortage.into()))
            }
            (Ok(outcome), _) => self.evaluated(plan, &outcome, runs_folder),
            (Err(error), _) => Attempt::without_run(CaseOutcome::NotRun(error)),
        }
    }

    /// Marks a failure that an entry of the manifest excuses as known, and a pass as unexpected if an entry claims that the case always
    /// fails.
    fn apply_known_failures(&self, plan: &Plan, ended: CaseOutcome) -> CaseOutcome {
        let Some(manifest) = &self.manifest else {
            return ended;
        };
        match ended {
            CaseOutcome::Passed => {
                // An entry that names several cases by a prefix does not claim that each of them fails.
                let mut always = manifest
                    .known_failures(plan.id())
                    .filter(|known| known.case == plan.id() && known.sometimes.is_none());
                always.next().map_or(CaseOutcome::Passed, |known| {
                    CaseOutcome::UnexpectedPass(known.clone())
                })
            }
            CaseOutcome::Failed(explained) => {
                match match_known_failure(manifest, plan.id(), &explained.failure_text) {
                    KnownFailureMatch::Excused(known) => CaseOutcome::KnownFailure(known.clone(), explained),
                    KnownFailureMatch::NotExcused(_) => CaseOutcome::Failed(explained),
                }
            }
            other => other,
        }
    }

    fn evaluated(&self, plan: &Plan, outcome: &Outcome, runs_folder: Option<&Path>) -> Attempt {
        let found = outcome.verdict.failure();
        let (mut files, mut folder, mut store_error) = (Vec::new(), None, None);
        if let Some(root) = runs_folder.filter(|_| found.is_some() || self.keep_passed) {
            match record::save(root, plan, &outcome.journal, &outcome.logs) {
                Ok(saved) => {
                    files = folder_lines(&saved, outcome);
                    folder = Some(saved);
                }
                Err(error) => {
                    let remedy = machine::remedy(&error, root, "name another folder with --output");
                    files.push(format!(
                        "files   could not be written into {}: {error}",
                        root.display()
                    ));
                    store_error = Some(format!("cannot write into {}: {error}; {remedy}", root.display()));
                }
            }
        }
        let ended = match found {
            Some(found) => self.failed_outcome(plan, outcome, found, files),
            None => CaseOutcome::Passed,
        };
        Attempt {
            outcome: ended,
            findings: findings(plan, &outcome.journal.since(0)),
            elapsed: outcome.elapsed,
            folder,
            store_error,
        }
    }

    fn failed_outcome(
        &self,
        plan: &Plan,
        outcome: &Outcome,
        found: &Failure,
        mut files: Vec<String>,
    ) -> CaseOutcome {
        let rerun = format!("{} {}", self.rerun, plan.id());
        let facts = outcome.journal.since(0);
        let failure_text = FailureText::of(found);
        if let Some(KnownFailureMatch::NotExcused(mismatches)) = self
            .manifest
            .as_ref()
            .map(|known| match_known_failure(known, plan.id(), &failure_text))
        {
            files.extend(
                mismatches
                    .into_iter()
                    .map(|mismatch| format!("known   {mismatch}")),
            );
        }
        let explained = Explanation {
            text: explain_failure(plan, outcome, rerun, files).unwrap_or_default(),
            failure_text,
            log: errors_or_last_lines(&outcome.logs),
            rule: found.rule,
            line: plan.steps.get(found.step).map_or(1, |step| step.line),
            cause: Cause::of(found, &facts),
            exited_role: exited_role(found, &facts),
            never_ready: facts
                .iter()
                .any(|fact| fact.seq == found.decided_by && failed_before_first_request(&fact.what, &facts)),
        };
        match outcome.verdict {
            Verdict::Inconclusive(_) => CaseOutcome::Inconclusive(explained),
            _ => CaseOutcome::Failed(explained),
        }
    }
}

/// The role of the program whose exit decided a failure.
fn exited_role(found: &Failure, facts: &[Fact]) -> Option<Role> {
    let decided = facts.iter().find(|fact| fact.seq == found.decided_by);
    decided.and_then(|fact| match &fact.what {
        Observation::Process(process) => Some(process.role),
        _ => None,
    })
}

/// Whether a program was not ready in time, or exited before its first request or call.
fn failed_before_first_request(what: &Observation, facts: &[Fact]) -> bool {
    let Observation::Process(process) = what else {
        return false;
    };
    let acted = |fact: &Fact| match &fact.what {
        Observation::Request(request) => request.client == process.client,
        Observation::Call(_) => process.role == Role::Driver,
        _ => false,
    };
    match process.event {
        ProcessEvent::NotReady(_) => true,
        ProcessEvent::Exited(_) => !facts.iter().any(acted),
        _ => false,
    }
}

/// Lines for the text of a failure that name the folder of the stored run.
fn folder_lines(folder: &Path, outcome: &Outcome) -> Vec<String> {
    let logs = outcome.logs.iter().map(|(client, _)| format!("  {client}.log"));
    vec![
        format!(
            "judge   {program} judge {}",
            quoted(&folder.display().to_string()),
            program = program()
        ),
        format!(
            "files   {}/journal.jsonl  scenario.yaml{}",
            folder.display(),
            logs.collect::<String>()
        ),
    ]
}

/// The text of a failure; `None` for a pass.
pub fn explain_failure(plan: &Plan, outcome: &Outcome, rerun: String, files: Vec<String>) -> Option<String> {
    let context = Context {
        requirements: Catalogue::load().requirements_of(plan),
        is_inconclusive: matches!(outcome.verdict, Verdict::Inconclusive(_)),
        logged_errors: logged_errors(&outcome.logs),
        rerun,
        files,
    };
    Some(format_failure(
        plan,
        &outcome.journal.since(0),
        outcome.verdict.failure()?,
        &context,
        Paint::of(&std::io::stdout()),
    ))
}
