//! `e2e`: the cases against the built-in references, with progress on standard error and results on standard output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anstream::{eprintln, println};
use indicatif::{ProgressBar, ProgressStyle};
use suites::harness::RunOptions;
use suites::harness::plan::Plan;
use suites::harness::report::Paint;
use suites::{CaseResult, Ended, Session};

use crate::Exit;
use crate::built_in::built_in;
use crate::command::E2eArgs;
use crate::inspect::selected;

/// Runs the selected cases.
pub(crate) fn run(args: &E2eArgs) -> Exit {
    let plans = match selected(&args.select) {
        Ok(plans) => plans,
        Err(exit) => return exit,
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!(
                "error: the asynchronous runtime does not start: {error}; check the limits of the process"
            );
            return Exit::Environment;
        }
    };
    let session = Arc::new(Session {
        systems: built_in(args.defect),
        options: RunOptions {
            patience: args.patience,
            ..RunOptions::default()
        },
        jobs: args.jobs,
        keep: Some(runs_folder()),
        rerun: rerun_command(args),
    });
    for time in 1..=args.repeat {
        if args.repeat > 1 {
            eprintln!("run {time} of {}", args.repeat);
        }
        let exit = runtime.block_on(run_or_interrupt(session.clone(), plans.clone(), args.verbose));
        if exit != Exit::Passed {
            return exit;
        }
    }
    Exit::Passed
}

/// Journals of failed cases go where build products go.
fn runs_folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."));
    let folder = workspace.join("target").join("runs");
    // Short where the user stands in the workspace, which is where they run this.
    match std::env::current_dir() {
        Ok(here) if here == workspace => PathBuf::from("target/runs"),
        _ => folder,
    }
}

fn rerun_command(args: &E2eArgs) -> String {
    let mut command = "cargo xtask e2e".to_owned();
    if let Some(defect) = args.defect {
        command.push_str(&format!(" --defect {defect}"));
    }
    command
}

/// An interrupt ends the run at once, but in order: sockets and temporary folders go away with their cases.
async fn run_or_interrupt(session: Arc<Session>, plans: Vec<Plan>, verbose: bool) -> Exit {
    tokio::select! {
        exit = run_once(session, plans, verbose) => exit,
        _ = tokio::signal::ctrl_c() => {
            eprintln!("interrupted: the cases that were running have no verdict");
            Exit::Interrupted
        }
    }
}

async fn run_once(session: Arc<Session>, plans: Vec<Plan>, verbose: bool) -> Exit {
    let started = Instant::now();
    let bar = progress(plans.len());
    let results = session
        .run(plans, |result| {
            bar.inc(1);
            bar.suspend(|| announce(result, verbose));
        })
        .await;
    bar.finish_and_clear();
    summarize(&results, verbose, started.elapsed())
}

/// Hidden by itself where standard error is no terminal.
fn progress(cases: usize) -> ProgressBar {
    let bar = ProgressBar::new(cases as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} cases");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// What is said as a case ends: everything about a failure, a line for a pass if wanted.
fn announce(result: &CaseResult, verbose: bool) {
    let paint = Paint::of(&std::io::stdout());
    match &result.ended {
        Ended::Passed if verbose => {
            println!(
                "{}  {}  {:.2}s",
                paint.good("pass"),
                result.plan.id(),
                result.elapsed.as_secs_f64()
            );
        }
        Ended::Passed => {}
        Ended::Failed(text) => println!("{text}"),
        Ended::Broken(error) => println!("{}  {}\n  {error}\n", paint.bad("ERROR"), result.plan.id()),
    }
}

/// One line per area, the counts, and last of all the failed ids alone on lines.
fn summarize(results: &[CaseResult], verbose: bool, took: Duration) -> Exit {
    let not_passed: Vec<&CaseResult> = results
        .iter()
        .filter(|result| !matches!(result.ended, Ended::Passed))
        .collect();
    if !verbose {
        areas(results);
    }
    println!("\n{:.1}s", took.as_secs_f64());
    println!(
        "{} passed, {} failed",
        results.len() - not_passed.len(),
        not_passed.len()
    );
    for result in &not_passed {
        println!("{}", result.plan.id());
    }
    exit_of(&not_passed)
}

fn areas(results: &[CaseResult]) {
    let mut areas: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for result in results {
        let (passed, all) = areas.entry(result.plan.area()).or_default();
        *passed += usize::from(matches!(result.ended, Ended::Passed));
        *all += 1;
    }
    let width = areas.keys().map(String::len).max().unwrap_or(0);
    let paint = Paint::of(&std::io::stdout());
    for (area, (passed, all)) in areas {
        let word = if passed == all {
            paint.good("pass")
        } else {
            paint.bad("FAIL")
        };
        println!("{word}  {area:<width$}  {passed:>3} of {all}");
    }
}

fn exit_of(not_passed: &[&CaseResult]) -> Exit {
    if not_passed.is_empty() {
        return Exit::Passed;
    }
    // A case that could not be run because of its file or of this machine says nothing about a system.
    let failed = |result: &&CaseResult| matches!(result.ended, Ended::Failed(_));
    if not_passed.iter().any(failed) {
        return Exit::Failed;
    }
    let refused = |result: &&CaseResult| {
        matches!(
            &result.ended,
            Ended::Broken(suites::harness::StartError::Refused { .. })
        )
    };
    if not_passed.iter().any(refused) {
        Exit::Usage
    } else {
        Exit::Environment
    }
}
