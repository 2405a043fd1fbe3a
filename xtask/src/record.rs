//! `record`: runs cases against the programs of a manifest, and stores their journals with the verdicts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use suites::harness::manifest::Manifest;
use suites::harness::record::load;
use suites::{AddResult, CaseOutcome, CaseResult, RecordedRun, Recording, Session, VerdictKind};

use crate::Exit;
use crate::args::{SelectArgs, at_least_one};
use crate::conformance::default_jobs;
use crate::interrupt::interrupted;
use crate::manifest::manifest_for;
use crate::out::{self, eprintln, println};
use crate::preflight;
use crate::run_folder::RunFolder;
use crate::runner::options;
use crate::runtime::runtime;
use crate::selected::selected;
use references::built_in;

/// Arguments of `record`.
#[derive(Args)]
pub(crate) struct RecordArgs {
    /// The manifest of the programs to run
    #[arg(long, value_name = "FILE")]
    sut: PathBuf,
    /// Folder of the recordings: two files per version of a program, with journals and verdicts
    #[arg(long, value_name = "FOLDER")]
    output: PathBuf,
    #[command(flatten)]
    select: SelectArgs,
    /// Cases to run concurrently [default: 5 per CPU; fewer if the open-file limit is low]
    #[arg(long, value_parser = at_least_one)]
    jobs: Option<usize>,
}

/// Runs the selected cases, and stores each run whose verdict differs from the verdicts that are stored for its case.
pub(crate) fn run(args: &RecordArgs) -> Result<Exit, Exit> {
    let manifest = manifest_for(&args.sut, &args.select.files())?;
    let failed = |error: suites::RecordingError| Exit::Environment.with_error(error);
    let mut recording = Recording::load_or_new(&args.output, &manifest).map_err(failed)?;
    let mut systems = built_in(None);
    manifest.install(&mut systems);
    preflight::check_output_folder(&args.output)?;
    preflight::temporary_files()?;
    let plans = selected(&args.select)?;
    let run_folder = RunFolder::lock(None)?;
    let jobs = preflight::limit_jobs(args.jobs.unwrap_or_else(|| default_jobs(false)))?;
    let options = options(1.0, Some(&manifest), None);
    let session = Arc::new(Session {
        runs_folder: Some(run_folder.cases()),
        keep_passed: true,
        ..Session::new(systems, options, Some(manifest.clone()), jobs, String::new())
    });
    let bar = out::progress(plans.len(), "{bar:30} {pos}/{len} cases");
    let mut results: Vec<CaseResult> = Vec::new();
    let each = |result| {
        bar.inc(1);
        results.push(result);
        std::ops::ControlFlow::Continue(())
    };
    let is_whole = runtime()?.block_on(async {
        tokio::select! {
            () = session.run(plans, each) => true,
            () = interrupted() => false,
        }
    });
    bar.finish_and_clear();
    if !is_whole {
        eprintln!("interrupted: nothing is stored");
        return Ok(Exit::Interrupted);
    }
    results.sort_by(|a, b| a.plan.id().cmp(b.plan.id()));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for result in &results {
        *counts
            .entry(store(result, &manifest, &mut recording))
            .or_default() += 1;
    }
    recording.save(&args.output).map_err(failed)?;
    let counts: Vec<String> = counts
        .iter()
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    println!(
        "{} {}: {}; {} runs are stored",
        recording.program,
        recording.version,
        counts.join(", "),
        recording.runs.len()
    );
    Ok(Exit::Passed)
}

/// Stores the run of a case if its verdict is new. Returns what happened to the run, as text for the summary.
fn store(result: &CaseResult, manifest: &Manifest, recording: &mut Recording) -> &'static str {
    let id = result.plan.id();
    let folder = match (&result.outcome, &result.folder) {
        (CaseOutcome::Skipped(_), _) => return "skipped",
        (CaseOutcome::Inconclusive(_), _) => return "undecided",
        (CaseOutcome::NotRun(error), _) => {
            eprintln!("{id}: {error}");
            return "not run";
        }
        (_, None) => {
            eprintln!(
                "{id}: {}",
                result.store_error.as_deref().unwrap_or("its run was not stored")
            );
            return "not run";
        }
        (_, Some(folder)) => folder,
    };
    let (plan, facts) = match load(folder) {
        Ok(stored) => stored,
        Err(error) => {
            eprintln!("{id}: {error}");
            return "not run";
        }
    };
    let run = RecordedRun::new(&plan, &facts, manifest);
    if (run.recorded.verdict == VerdictKind::Pass)
        != matches!(
            result.outcome,
            CaseOutcome::Passed | CaseOutcome::UnexpectedPass(_)
        )
    {
        eprintln!(
            "{id}: the verdict of the run differs from the verdict on its stored journal, which is a bug of the harness: {}",
            folder.display()
        );
        return "not stored";
    }
    let judged = run.recorded.clone();
    match recording.add(run) {
        AddResult::Same => "as stored",
        AddResult::New => "new",
        AddResult::Replaced => "of changed cases",
        AddResult::Differs(stored) => {
            for stored in stored {
                println!("{id}\n  stored  {stored}\n  now     {judged}");
            }
            "with another verdict than stored"
        }
    }
}
