//! `e2e --watch`: runs the cases of a file at each save, in simulated time.
//!
//! Polls the file instead of using inotify: editors replace files, some mounts report no events, and reading a few kilobytes is cheap.
//! Simulated time is deterministic, so only those rows of a table run again that were changed or did not pass.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use suites::harness::RunOptions;
use suites::harness::invocation::program;
use suites::harness::plan::Plan;
use suites::report::CaseRecord;
use suites::{Session, quoted};

use crate::args::E2eArgs;
use crate::interrupt::interrupted;
use crate::out::{eprintln, println};
use crate::repro;
use crate::runner::options;
use crate::runtime::runtime;
use crate::summary::Announcer;
use crate::verdicts::exit_of_verdicts;
use crate::{Exit, e2e, mutants, out};
use references::built_in;

/// Polling interval. An edit is used once the file is unchanged for one interval, so that a partially written file is not used.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Runs the cases of the file at each save, until interrupted.
pub(crate) fn run(args: &E2eArgs, file: &Path) -> Result<Exit, Exit> {
    mutants::ensure_available(args.defect)?;
    if let Err(error) = std::fs::metadata(file) {
        eprintln!("error: {}: {error}; name a case file", file.display());
        return Err(Exit::Usage);
    }
    let words = e2e::defect_words(args.defect, "repro");
    let cores = std::thread::available_parallelism().map_or(4, usize::from);
    let options = RunOptions {
        seed: Some(args.time.simulate.unwrap_or_default()),
        ..options(args.run.patience, None, args.defect)
    };
    let rerun = format!(
        "{} {} {}",
        program(),
        out::shell_command(&words),
        quoted(&file.display().to_string())
    );
    let session = Arc::new(Session::new(built_in(args.defect), options, None, cores, rerun));
    Ok(runtime()?.block_on(async {
        tokio::select! {
            () = follow(&session, file, args.run.verbose) => Exit::Passed,
            () = interrupted() => Exit::Interrupted,
        }
    }))
}

async fn follow(session: &Arc<Session>, file: &Path, verbose: bool) {
    let (mut seen, mut last_run) = (None, None);
    let mut passed = BTreeSet::new();
    loop {
        // The file may not exist while an editor replaces it.
        if let Ok(now) = std::fs::read_to_string(file) {
            let is_settled = last_run.is_none() || seen.as_ref() == Some(&now);
            seen = Some(now);
            if is_settled && seen != last_run {
                last_run.clone_from(&seen);
                match repro::plans(file, &[]) {
                    Ok(plans) => passed = run_changed(session, plans, &passed, verbose).await,
                    Err(why) => eprintln!("error: {why}"),
                }
                // Standard output was closed, so further results cannot be printed.
                if out::is_output_lost() {
                    return;
                }
                eprintln!("waiting for the next save of {}", file.display());
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Runs the cases that were changed or did not pass before. Returns the texts of all cases that pass, including the cases that did not run
/// again.
async fn run_changed(
    session: &Arc<Session>,
    plans: Vec<Plan>,
    passed: &BTreeSet<String>,
    verbose: bool,
) -> BTreeSet<String> {
    let began = Instant::now();
    let all = plans.len();
    let (same, changed): (Vec<Plan>, Vec<Plan>) =
        plans.into_iter().partition(|plan| passed.contains(&plan.text));
    let mut passing: BTreeSet<String> = same.into_iter().map(|plan| plan.case.text).collect();
    let same = passing.len();
    let runs = changed.into_iter().map(|plan| session.run_one(plan));
    let mut announcer = Announcer::new(verbose);
    for result in join_all(runs).await {
        announcer.announce(&result);
        if exit_of_verdicts(&[CaseRecord::new(&result)]) == Exit::Passed {
            passing.insert(result.plan.text.clone());
        }
    }
    println!(
        "{} of {all} passed in {} ms{}",
        passing.len(),
        began.elapsed().as_millis(),
        match same {
            0 => String::new(),
            same => format!(", {same} of them as before"),
        }
    );
    passing
}
