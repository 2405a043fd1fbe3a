//! The cases as tests of `cargo test` and nextest, one test per id.
//!
//! Systems in this process run in simulated time from one seed, so that failures are reproducible. Child processes run in real time.
//!
//! When tests are listed, standard output contains only the list, and skipped cases are marked. Failure texts go to standard error and
//! start with `Error: `, as test runners expect.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use harness::RunOptions;
use harness::manifest::Manifest;
use harness::plan::Plan;
use harness::scenario::{CaseFiles, Role, ScenarioError};
use harness::system::Systems;
use libtest_mimic::{Arguments, Failed, Trial};

use crate::report::CaseVerdict;
use crate::session::{CaseOutcome, Session};

/// Seed of all random choices in a case.
const SEED: u64 = 0;

/// Runs or lists the cases as the process arguments demand. Simulated time is used, because the systems run in this process. Ignores cases
/// that need a role for which there is no system.
pub fn libtest_main(files: &CaseFiles, systems: Systems) -> ExitCode {
    let options = RunOptions {
        seed: Some(SEED),
        ..RunOptions::default()
    };
    main(files, systems, None, options)
}

/// Runs or lists the cases in real time against the programs of a manifest. Ignores cases that do not apply to the programs. A known
/// failure does not fail the test.
pub fn libtest_main_of(files: &CaseFiles, systems: Systems, manifest: Manifest) -> ExitCode {
    let mut systems = systems;
    manifest.install(&mut systems);
    let defaults = RunOptions::default();
    let options = RunOptions {
        refresh: manifest.refresh.unwrap_or(defaults.refresh),
        ..defaults
    };
    main(files, systems, Some(manifest), options)
}

fn main(files: &CaseFiles, systems: Systems, manifest: Option<Manifest>, options: RunOptions) -> ExitCode {
    let arguments = Arguments::from_args();
    let plans = match plans_for(files, &arguments) {
        Ok(plans) => plans,
        Err(error) => {
            print_error(&error.to_string());
            return ExitCode::from(2);
        }
    };
    // The test runner limits concurrency by the number of its threads.
    let (jobs, rerun) = (usize::MAX, "cargo test --".to_owned());
    let session = Arc::new(Session::new(systems, options, manifest, jobs, rerun));
    let trials = plans
        .into_iter()
        .map(|plan| trial(plan, session.clone()))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The cases that may match the arguments. For an exact name, reads only the file of the case, because nextest starts a process per test.
fn plans_for(files: &CaseFiles, arguments: &Arguments) -> Result<Vec<Plan>, ScenarioError> {
    match &arguments.filter {
        Some(id) if arguments.exact => Ok(crate::plan(files, id)?.into_iter().collect()),
        _ => crate::plans(files),
    }
}

fn trial(plan: Plan, session: Arc<Session>) -> Trial {
    let manifest = session.manifest.as_ref();
    let played = &session.systems.by_role;
    let is_skipped = manifest.is_some_and(|manifest| manifest.skip_reason(&plan).is_some())
        || plan
            .roles
            .iter()
            .any(|role| *role != Role::Driver && !played.contains_key(role));
    let test = Trial::test(plan.id().to_owned(), move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        match runtime.block_on(session.run_one(plan)).outcome {
            CaseOutcome::Passed | CaseOutcome::KnownFailure(..) => Ok(()),
            CaseOutcome::NotRun(error) => Err(fail(&error.to_string())),
            other => Err(fail(
                other
                    .explained()
                    .map_or(CaseVerdict::of(&other).as_str(), |it| &it.text),
            )),
        }
    });
    test.with_ignored_flag(is_skipped)
}

fn fail(text: &str) -> Failed {
    print_error(text);
    Failed::without_message()
}

fn print_error(text: &str) {
    // If standard error is closed, the message is lost.
    let _ = writeln!(std::io::stderr(), "Error: {text}");
}
