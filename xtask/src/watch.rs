//! `e2e --watch`: the cases of a file again at each save, in simulated time.
//!
//! The file is read again and again instead of being watched by the kernel: editors replace files, some mounts report nothing, and a
//! file of a few kilobytes costs nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use suites::harness::RunOptions;
use suites::harness::invocation::program;
use suites::harness::plan::Plan;
use suites::report::CaseRecord;
use suites::{Session, Turns, quoted};

use crate::args::E2eArgs;
use crate::built_in::built_in;
use crate::interrupt::interrupted;
use crate::out::{eprintln, println};
use crate::repro;
use crate::runner::options;
use crate::runtime::runtime;
use crate::summary::announce;
use crate::verdicts::exit_of_verdicts;
use crate::{Exit, e2e, mutants, out};

/// How long a save waits at most to be seen. It counts once the file has stayed the same for as long, so that no half of it does.
const LOOK: Duration = Duration::from_millis(40);

/// Runs the cases until somebody asks for the end.
pub(crate) fn run(args: &E2eArgs, file: &Path) -> Exit {
    attempt(args, file).unwrap_or_else(|exit| exit)
}

fn attempt(args: &E2eArgs, file: &Path) -> Result<Exit, Exit> {
    mutants::at_hand(args.defect)?;
    if let Err(error) = std::fs::metadata(file) {
        eprintln!("error: {}: {error}; name a case file", file.display());
        return Err(Exit::Usage);
    }
    let words = e2e::defect_words(args.defect, "repro");
    let session = Session {
        systems: built_in(args.defect),
        manifest: None,
        options: RunOptions {
            seed: Some(args.time.simulate.unwrap_or_default()),
            ..options(args.run.patience, None, args.defect)
        },
        turns: Arc::new(Turns::of(1)),
        attempts: 1,
        keep: None,
        keep_passed: false,
        rerun: format!(
            "{} {} {}",
            program(),
            out::command(&words),
            quoted(&file.display().to_string())
        ),
    };
    Ok(runtime()?.block_on(async {
        tokio::select! {
            () = follow(&session, file, args.run.verbose) => Exit::Passed,
            () = interrupted() => Exit::Interrupted,
        }
    }))
}

async fn follow(session: &Session, file: &Path, verbose: bool) {
    let (mut seen, mut taken) = (None, None);
    loop {
        // A file that is gone for the moment is being replaced.
        if let Ok(now) = std::fs::read_to_string(file) {
            let is_settled = taken.is_none() || seen.as_ref() == Some(&now);
            seen = Some(now);
            if is_settled && seen != taken {
                taken.clone_from(&seen);
                match repro::plans(file, &[]) {
                    Ok(plans) => judge(session, plans, verbose).await,
                    Err(why) => eprintln!("error: {why}"),
                }
                eprintln!("waiting for the next save of {}", file.display());
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn judge(session: &Session, plans: Vec<Plan>, verbose: bool) {
    let began = Instant::now();
    let mut records = Vec::new();
    for plan in plans {
        let result = session.run_one(plan).await;
        announce(&result, verbose);
        records.push(CaseRecord::new(&result));
    }
    let passed = records
        .iter()
        .filter(|record| exit_of_verdicts(std::slice::from_ref(*record)) == Exit::Passed);
    println!(
        "{} of {} passed in {} ms",
        passed.count(),
        records.len(),
        began.elapsed().as_millis()
    );
}
