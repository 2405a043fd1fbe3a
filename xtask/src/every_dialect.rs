//! `e2e --every-dialect`: runs core cases in simulated time with each dialect of the references, which is allowed behaviour other than the
//! default. A case that fails here would also fail a conforming program. Does not know what a dialect changes.

use std::ops::ControlFlow;
use std::sync::Arc;

use suites::harness::RunOptions;
use suites::harness::invocation::program;
use suites::harness::plan::Plan;
use suites::harness::scenario::{Level, Role};
use suites::{CaseOutcome, Session};

use crate::Exit;
use crate::args::{E2eArgs, default_jobs};
use crate::out::{eprintln, println};
use crate::runtime::runtime;
use crate::selected::selected;
use references::Dialect;
use references::in_dialect;

/// Runs the selected core cases in every dialect (set of allowed choices) of their roles, and prints one line per dialect.
pub(crate) fn run(args: &E2eArgs) -> Result<Exit, Exit> {
    let (plans, runtime) = (selected(&args.select)?, runtime()?);
    let seed = args.time.simulate.unwrap_or_default();
    let jobs = args.jobs.unwrap_or_else(|| default_jobs(&args.run, Some(seed)));
    let (mut passed, mut failed) = (0, 0);
    for role in [Role::Publisher, Role::Cleaner, Role::Scheduler, Role::Driver] {
        let is_core = |plan: &&Plan| plan.level == Level::Core && plan.roles.contains(&role);
        let plans: Vec<Plan> = plans.iter().filter(is_core).cloned().collect();
        for dialect in Dialect::all(role) {
            let failures = runtime.block_on(failures(&dialect, &plans, seed, jobs));
            println!(
                "{} {dialect}  {} of {}",
                role.as_str(),
                plans.len() - failures.len(),
                plans.len()
            );
            passed += plans.len() - failures.len();
            failed += failures.len();
            for text in failures {
                eprintln!("{text}");
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(match (passed, failed) {
        (0, 0) => Exit::NoCases,
        (_, 0) => Exit::Passed,
        _ => Exit::Failed,
    })
}

/// Runs these cases in a dialect (allowed alternative behaviour), and returns the text of each failure.
async fn failures(dialect: &Dialect, plans: &[Plan], seed: u64, jobs: usize) -> Vec<String> {
    let options = RunOptions {
        seed: Some(seed),
        ..RunOptions::default()
    };
    let rerun = format!("{} e2e --simulate={seed} --dialect={dialect}", program());
    let session = Arc::new(Session::new(in_dialect(dialect), options, None, jobs, rerun));
    let mut plans = plans.to_vec();
    plans.iter_mut().for_each(|plan| dialect.change_driver(plan));
    let mut failures = Vec::new();
    session
        .run(plans, |result| {
            let id = result.plan.id();
            match &result.outcome {
                CaseOutcome::Passed => failures.extend(
                    result
                        .findings
                        .first()
                        .map(|it| format!("{id}: finding {}: {}", it.rule, it.text)),
                ),
                CaseOutcome::NotRun(error) => failures.push(format!("{id}: {error}")),
                ended => failures.extend(ended.explained().map(|explained| explained.text.clone())),
            }
            ControlFlow::Continue(())
        })
        .await;
    failures
}
