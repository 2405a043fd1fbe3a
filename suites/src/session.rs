//! Runs many cases concurrently, with a callback for each result.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use harness::invocation::program;
use harness::journal::{Fact, ProcessEvent, What};
use harness::judge::{Failure, Finding, SpecRule, Verdict, findings};
use harness::machine;
use harness::manifest::{KnownFailure, Manifest};
use harness::plan::Plan;
use harness::report::{Context, Paint, failure, last_logged, logged_errors};
use harness::scenario::Role;
use harness::system::Systems;
use harness::{LiveCluster, Outcome, RunOptions, StartError, record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::known::{Knowledge, look_up};
use crate::said::Said;
use crate::shell::quoted;
use crate::{Catalogue, Turns};

/// Configuration for running cases.
#[derive(Clone)]
pub struct Session {
    /// The systems under test.
    pub systems: Systems,
    /// Their manifest, unless they are built in: decides about skips and known failures.
    pub manifest: Option<Manifest>,
    /// Timeouts and poll interval.
    pub options: RunOptions,
    /// Job slots: concurrent cases, or one exclusively.
    pub turns: Arc<Turns>,
    /// Maximum number of attempts of a failing case. A pass after a failure is flaky, not passed.
    pub attempts: u32,
    /// Folder for the runs of cases that do not pass; `None` to store none.
    pub keep: Option<PathBuf>,
    /// Whether to store runs of passed cases too.
    pub keep_passed: bool,
    /// The command that runs a single case, without its id.
    pub rerun: String,
}

/// The result of a case.
pub enum Ended {
    /// Passed.
    Passed,
    /// Passed, although the manifest expects a failure.
    Surprising(KnownFailure),
    /// Failed.
    Failed(Explained),
    /// Failed with a known failure.
    Known(KnownFailure, Explained),
    /// Failed, then passed in the attempt of this number.
    Flaky(u32, Explained),
    /// Timed out on a machine that was too busy to decide.
    Inconclusive(Explained),
    /// Does not apply to these systems.
    Skipped(String),
    /// Could not be run.
    Broken(StartError),
}

/// An explained failure.
#[derive(Clone)]
pub struct Explained {
    /// The full text, for a terminal.
    pub text: String,
    /// The text that known failures are compared to.
    pub said: Said,
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
    pub ended: Option<Role>,
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
            Some(What::Process(_)) => Cause::Crash,
            Some(What::Bound(_)) => Cause::Timeout,
            _ => Cause::Violation,
        }
    }

    /// The spelling in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::Violation => "violation",
            Cause::Timeout => "timeout",
            Cause::Crash => "crash",
        }
    }
}

impl Ended {
    /// The explanation, if the case did not pass.
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

/// A case and its result.
pub struct CaseResult {
    /// The case.
    pub plan: Arc<Plan>,
    /// The result.
    pub ended: Ended,
    /// Duration from the start of the first server to the verdict, over all attempts.
    pub elapsed: Duration,
    /// Number of repetitions without concurrent cases, because the result was inconclusive.
    pub repeated: u32,
    /// Violations of rules that the case was not testing.
    pub findings: Vec<Finding>,
    /// Folder of the stored run: of several attempts the first, which is the explained one.
    pub folder: Option<PathBuf>,
    /// Why the run could not be stored, if it should have been.
    pub unkept: Option<String>,
}

/// One attempt at a case.
struct Attempt {
    ended: Ended,
    findings: Vec<Finding>,
    elapsed: Duration,
    folder: Option<PathBuf>,
    unkept: Option<String>,
}

impl Attempt {
    /// The result of a case with this number of repetitions.
    fn of(self, plan: Arc<Plan>, repeated: u32) -> CaseResult {
        CaseResult {
            plan,
            ended: self.ended,
            findings: self.findings,
            elapsed: self.elapsed,
            repeated,
            folder: self.folder,
            unkept: self.unkept,
        }
    }

    /// A result without a run.
    fn without_run(ended: Ended) -> Self {
        Attempt {
            ended,
            findings: Vec::new(),
            elapsed: Duration::ZERO,
            folder: None,
            unkept: None,
        }
    }
}

/// Maximum number of exclusive repetitions of an inconclusive case. After that, other processes keep the machine busy.
const REPEATED: u32 = 2;

impl Session {
    /// Runs all cases and passes results to `each` until it breaks; cases still running then end without a result.
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
                // A panic of the harness: systems panic inside tasks of their own.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
    }

    /// Runs one case, concurrently with others. Does not repeat an inconclusive one.
    pub async fn run_beside(&self, plan: Plan) -> CaseResult {
        let plan = self.adapted(plan);
        let attempts = self.beside(&plan).await;
        attempts.of(plan, 0)
    }

    async fn beside(&self, plan: &Arc<Plan>) -> Attempt {
        let _turn = self.turns.together().await;
        self.all_attempts(plan).await
    }

    /// Runs one case. Repeats an inconclusive one exclusively, after all other cases have ended.
    pub async fn run_one(&self, plan: Plan) -> CaseResult {
        let plan = self.adapted(plan);
        let mut attempts = self.beside(&plan).await;
        let mut repeated = 0;
        while matches!(attempts.ended, Ended::Inconclusive(_)) && repeated < REPEATED {
            let _turn = self.turns.alone().await;
            let before = attempts.elapsed;
            attempts = self.all_attempts(&plan).await;
            attempts.elapsed += before;
            repeated += 1;
        }
        attempts.of(plan, repeated)
    }

    /// Runs one case once, and leaves its cluster running; `None` if it was skipped or could not be run.
    pub async fn run_and_keep(&self, plan: Plan) -> (CaseResult, Option<LiveCluster>) {
        let plan = self.adapted(plan);
        let (mut attempt, standing) = match self.skipped(&plan) {
            Some(skipped) => (skipped, None),
            None => match harness::run_and_keep(plan.clone(), &self.systems, self.options.clone()).await {
                Ok((outcome, standing)) => {
                    (self.ended(&plan, &outcome, self.keep.as_deref()), Some(standing))
                }
                Err(error) => (Attempt::without_run(Ended::Broken(error)), None),
            },
        };
        attempt.ended = self.with_known(&plan, attempt.ended);
        (attempt.of(plan, 0), standing)
    }

    /// The case with the names of the driver under test. A case that cannot be adapted is skipped and stays unchanged.
    fn adapted(&self, plan: Plan) -> Arc<Plan> {
        let adapted = self.manifest.as_ref().map(|manifest| manifest.adapt(&plan));
        Arc::new(match adapted {
            Some(Ok(adapted)) => adapted,
            Some(Err(_)) | None => plan,
        })
    }

    fn skipped(&self, plan: &Plan) -> Option<Attempt> {
        let by_systems = self.manifest.as_ref().and_then(|manifest| manifest.skips(plan));
        let by_server = || self.systems.api_server.as_ref()?.skips(plan);
        let why = by_systems.or_else(by_server)?;
        Some(Attempt::without_run(Ended::Skipped(why)))
    }

    async fn all_attempts(&self, plan: &Arc<Plan>) -> Attempt {
        if let Some(skipped) = self.skipped(plan) {
            return skipped;
        }
        let mut first = self.attempt(plan, self.keep.as_deref()).await;
        first.ended = self.with_known(plan, first.ended);
        let Ended::Failed(explained) = first.ended else {
            return first;
        };
        for attempt in 2..=self.attempts {
            // Not stored: the first attempt is the explained one.
            let again = self.attempt(plan, None).await;
            first.elapsed += again.elapsed;
            if matches!(again.ended, Ended::Passed) {
                first.ended = Ended::Flaky(attempt, explained);
                return first;
            }
        }
        first.ended = Ended::Failed(explained);
        first
    }

    async fn attempt(&self, plan: &Arc<Plan>, keep: Option<&Path>) -> Attempt {
        let run = Box::pin(harness::run(plan.clone(), &self.systems, self.options.clone()));
        match machine::with_shortage(run).await {
            // The failure may be caused by a resource shortage of this machine.
            (Ok(outcome), Some(shortage)) if outcome.verdict.failure().is_some() => {
                Attempt::without_run(Ended::Broken(shortage.into()))
            }
            (Ok(outcome), _) => self.ended(plan, &outcome, keep),
            (Err(error), _) => Attempt::without_run(Ended::Broken(error)),
        }
    }

    /// Adjusts the result to the known failures of the manifest that have not expired.
    fn with_known(&self, plan: &Plan, ended: Ended) -> Ended {
        let Some(manifest) = &self.manifest else {
            return ended;
        };
        match ended {
            Ended::Passed => {
                // An entry for a folder does not claim that each case of it fails.
                let mut always = manifest
                    .known_failures(plan.id())
                    .filter(|known| known.case == plan.id() && known.sometimes.is_none());
                always
                    .next()
                    .map_or(Ended::Passed, |known| Ended::Surprising(known.clone()))
            }
            Ended::Failed(explained) => match look_up(manifest, plan.id(), &explained.said) {
                Knowledge::Excused(known) => Ended::Known(known.clone(), explained),
                Knowledge::Not(_) => Ended::Failed(explained),
            },
            other => other,
        }
    }

    fn ended(&self, plan: &Plan, outcome: &Outcome, keep: Option<&Path>) -> Attempt {
        let found = outcome.verdict.failure();
        let (mut files, mut folder, mut unkept) = (Vec::new(), None, None);
        if let Some(root) = keep.filter(|_| found.is_some() || self.keep_passed) {
            match record::save(root, plan, &outcome.journal, &outcome.logs) {
                Ok(saved) => {
                    files = lines_about(&saved, outcome);
                    folder = Some(saved);
                }
                Err(error) => {
                    let remedy = machine::remedy(&error, root, "name another folder with --output");
                    files.push(format!(
                        "files   could not be written into {}: {error}",
                        root.display()
                    ));
                    unkept = Some(format!("cannot write into {}: {error}; {remedy}", root.display()));
                }
            }
        }
        let ended = match found {
            Some(found) => self.failed(plan, outcome, found, files),
            None => Ended::Passed,
        };
        Attempt {
            ended,
            findings: findings(plan, &outcome.journal.since(0)),
            elapsed: outcome.elapsed,
            folder,
            unkept,
        }
    }

    fn failed(&self, plan: &Plan, outcome: &Outcome, found: &Failure, mut files: Vec<String>) -> Ended {
        let rerun = format!("{} {}", self.rerun, plan.id());
        let facts = outcome.journal.since(0);
        let said = Said::by(found);
        if let Some(Knowledge::Not(told)) = self
            .manifest
            .as_ref()
            .map(|known| look_up(known, plan.id(), &said))
        {
            files.extend(told.into_iter().map(|told| format!("known   {told}")));
        }
        let explained = Explained {
            text: explain_failure(plan, outcome, rerun, files).unwrap_or_default(),
            said,
            log: last_logged(&outcome.logs),
            rule: found.rule,
            line: plan.steps.get(found.step).map_or(1, |step| step.line),
            cause: Cause::of(found, &facts),
            ended: ended_role(found, &facts),
            never_ready: facts
                .iter()
                .any(|fact| fact.seq == found.decided_by && never_began(&fact.what, &facts)),
        };
        match outcome.verdict {
            Verdict::Inconclusive(_) => Ended::Inconclusive(explained),
            _ => Ended::Failed(explained),
        }
    }
}

/// The role of the program whose exit decided a failure.
fn ended_role(found: &Failure, facts: &[Fact]) -> Option<Role> {
    let decided = facts.iter().find(|fact| fact.seq == found.decided_by);
    decided.and_then(|fact| match &fact.what {
        What::Process(process) => Some(process.role),
        _ => None,
    })
}

/// Whether a program was not ready in time, or exited before its first request.
fn never_began(what: &What, facts: &[Fact]) -> bool {
    let What::Process(process) = what else {
        return false;
    };
    let acted = |fact: &Fact| match &fact.what {
        What::Request(request) => request.client == process.client,
        What::Call(_) => process.role == Role::Driver,
        _ => false,
    };
    match process.event {
        ProcessEvent::NotReady(_) => true,
        ProcessEvent::Exited(_) => !facts.iter().any(acted),
        _ => false,
    }
}

/// Lines of a failure about the folder of its run.
fn lines_about(folder: &Path, outcome: &Outcome) -> Vec<String> {
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
        requirements: Catalogue::load().of(plan),
        is_inconclusive: matches!(outcome.verdict, Verdict::Inconclusive(_)),
        logged_errors: logged_errors(&outcome.logs),
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
