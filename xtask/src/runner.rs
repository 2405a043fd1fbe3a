//! Runs cases, with progress on standard error and results on standard output, and writes the reports.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use indicatif::ProgressBar;
use suites::harness::RunOptions;
use suites::harness::invocation::program;
use suites::harness::manifest::Manifest;
use suites::harness::plan::Plan;
use suites::harness::system::Systems;
use suites::report::{
    CaseRecord, KnownRecord, Report, SettingsRecord, ShardsRecord, SystemRecord, rounded_seconds,
};
use suites::{CaseOutcome, CaseResult, JobSlots, Session, quoted};

use crate::accept::Accept;
use crate::args::{RunArgs, SelectArgs};
use crate::interrupt::interrupted;
use crate::out::{self, eprintln};
use crate::run_folder::RunFolder;
use crate::runtime::runtime;
use crate::selected::selected;
use crate::summary::{Announcer, summarize};
use crate::verdicts::exit_of;
use crate::{Exit, apiserver, github, health, preflight};
use references::Defect;
use references::Dialect;

pub(crate) enum Cases<'a> {
    Selected(&'a SelectArgs),
    /// These cases, with the reason why the report is partial.
    These(Vec<Plan>, String),
}

/// A run: its cases, systems and options.
pub(crate) struct Run<'a> {
    pub(crate) cases: Cases<'a>,
    pub(crate) run: &'a RunArgs,
    pub(crate) jobs: usize,
    /// Seed of a run in simulated time.
    pub(crate) simulate: Option<u64>,
    pub(crate) systems: Systems,
    pub(crate) manifest: Option<Manifest>,
    pub(crate) defect: Option<Defect>,
    pub(crate) record: SystemRecord,
    /// Dialect (allowed alternative behaviour) of the built-in driver in driver cases. For other roles, `systems` already has the dialect.
    pub(crate) dialect: Option<&'a Dialect>,
    /// The output file of `--accept` for `knownFailures` entries; `None` without the option.
    pub(crate) accept: Option<Accept>,
    /// The command line without the selection of cases.
    pub(crate) command: Vec<String>,
}

pub(crate) fn run_cases(mut request: Run<'_>) -> Result<Exit, Exit> {
    let (mut plans, partial) = match &request.cases {
        Cases::These(plans, why) => (plans.clone(), Some(why.clone())),
        Cases::Selected(select) => (
            selected(select)?,
            select
                .restricts_cases()
                .then(|| "only some cases were selected".to_owned()),
        ),
    };
    if let Some(dialect) = request.dialect {
        plans.iter_mut().for_each(|plan| dialect.change_driver(plan));
    }
    let shards = request
        .run
        .part
        .shard
        .map(|shard| ShardsRecord::new(shard, &plans, request.run.part.run_id.clone()));
    // In a partial run no `knownFailures` entry counts as stale: it may match a case that did not run.
    let catalogue = if partial.is_some() { 0 } else { plans.len() };
    if let Some(shard) = request.run.part.shard {
        plans = shard.apply(plans);
        if plans.is_empty() {
            eprintln!("error: shard {shard} has no case; use fewer shards");
            return Err(Exit::NoCases);
        }
    }
    let runtime = runtime()?;
    let options = RunOptions {
        seed: request.simulate,
        ..options(request.run.patience, request.manifest.as_ref(), request.defect)
    };
    preflight::temporary_files()?;
    let jobs = preflight::limit_jobs(request.jobs.min(plans.len()))?;
    let run_folder = RunFolder::lock(request.run.output.as_deref())?;
    request.command.extend(request.run.words());
    let server = runtime.block_on(apiserver::connect(request.run.apiserver.as_deref()))?;
    request.systems.api_server = apiserver::real_api_server(server.as_ref());
    let mut report = report_without_cases(
        &request,
        &options,
        partial,
        catalogue,
        apiserver::server_name(server.as_ref()),
    );
    report.shards = shards;
    let accept = request.accept.take();
    let session = Arc::new(Session {
        systems: request.systems,
        manifest: request.manifest,
        options,
        job_slots: Arc::new(JobSlots::of(jobs)),
        attempts: request.run.attempts,
        runs_folder: Some(run_folder.cases()),
        keep_passed: request.run.keep_passed,
        rerun: format!(
            "{program} {}",
            out::shell_command(&request.command),
            program = program()
        ),
    });
    let outputs = Outputs {
        run_folder: &run_folder,
        accept: accept.as_ref(),
    };
    let exit = runtime.block_on(run_all(session, plans, report, request.run, &outputs));
    Ok(runtime.block_on(apiserver::clean_up(server, exit)))
}

/// Options of a run. A manifest can set the poll interval and the maximum back-off of its programs.
pub(crate) fn options(patience: f64, manifest: Option<&Manifest>, defect: Option<Defect>) -> RunOptions {
    let usual = RunOptions::default();
    let options = RunOptions {
        patience,
        refresh: manifest
            .and_then(|manifest| manifest.refresh)
            .unwrap_or(usual.refresh),
        retry_interval_max: manifest
            .and_then(|manifest| manifest.retry_interval_max)
            .unwrap_or(usual.retry_interval_max),
        ..usual
    };
    match defect {
        Some(defect) => defect.apply_to(options),
        None => options,
    }
}

fn report_without_cases(
    request: &Run<'_>,
    options: &RunOptions,
    partial: Option<String>,
    catalogue: usize,
    api_server: String,
) -> Report {
    let mut limits: Vec<String> = partial.into_iter().collect();
    /// Maximum `--patience` for a complete result. With longer timeouts, a case may pass in spite of delays that users notice.
    const MAX_USUAL_PATIENCE: f64 = 10.0;
    if options.patience > MAX_USUAL_PATIENCE {
        limits.push(format!("timeouts were multiplied by {}", options.patience));
    }
    let settings = SettingsRecord::new(options, request.run.attempts, api_server);
    Report {
        limits,
        catalogue,
        known_failures: request
            .manifest
            .iter()
            .flat_map(Manifest::known)
            .map(KnownRecord::new)
            .collect(),
        ..Report::new(request.record.clone(), request.command.clone(), settings)
    }
}

/// Where a run writes its results, apart from the terminal.
struct Outputs<'a> {
    run_folder: &'a RunFolder,
    /// The output file of `--accept` for `knownFailures` entries; `None` without the option.
    accept: Option<&'a Accept>,
}

/// The reason that a run ended before all cases had a verdict.
enum EarlyEnd {
    Interrupted,
    /// A system was never ready in [`NEVER_READY`] consecutive cases.
    NeverReady,
}

/// The run ends after this number of consecutive cases in which a system was never ready: each such case takes half a minute, and later
/// cases would probably fail too.
const NEVER_READY: usize = 3;

/// Runs the cases, prints results, and writes the report, even if the run ends early.
///
/// An interrupt ends the run at once: sockets and temporary folders are removed together with their cases.
async fn run_all(
    session: Arc<Session>,
    plans: Vec<Plan>,
    mut report: Report,
    args: &RunArgs,
    outputs: &Outputs<'_>,
) -> Exit {
    let started = Instant::now();
    let ids: Vec<String> = plans.iter().map(|plan| plan.id().to_owned()).collect();
    let bar = progress(plans.len());
    let muted = github::mute_workflow_commands();
    let manifest = session.manifest.clone();
    let (mut results, mut never_ready) = (Vec::new(), 0);
    let mut announcer = Announcer::new(args.verbose);
    let each = |result: CaseResult| {
        bar.inc(1);
        bar.suspend(|| announcer.announce(&result));
        never_ready = match &result.outcome {
            CaseOutcome::Skipped(_) => never_ready,
            ended if ended.explained().is_some_and(|it| it.never_ready) => never_ready + 1,
            _ => 0,
        };
        results.push(result);
        match never_ready == NEVER_READY && !args.keep_going {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let early_end = tokio::select! {
        () = session.run(plans, each) => (results.len() < ids.len()).then_some(EarlyEnd::NeverReady),
        () = interrupted() => Some(EarlyEnd::Interrupted),
    };
    bar.finish_and_clear();
    report.seconds = rounded_seconds(started.elapsed());
    report.cases = results.iter().map(record).collect();
    for result in &results {
        report.add_findings(result, manifest.as_ref());
    }
    let has_ended = |id: &String| report.cases.iter().any(|case| case.id == *id);
    report.unfinished = ids.into_iter().filter(|id| !has_ended(id)).collect();
    let why = early_end
        .as_ref()
        .map(|early_end| early_end.reason(&report, args.output.as_deref()));
    report.limits.extend(why);
    report.finalize();
    summarize(&report, args.verbose);
    drop(muted);
    github::annotate(&report);
    github::summarize(&report);
    let written = outputs
        .run_folder
        .write(&report)
        .map_err(|error| error.to_string());
    let not_stored = results.iter().find_map(|result| result.store_error.clone());
    if let Some(why) = written.err().or(not_stored) {
        return Exit::Environment.with_error(why);
    }
    if let Some(Err(exit)) = outputs.accept.map(|accept| accept.write(&report)) {
        return exit;
    }
    match early_end {
        Some(EarlyEnd::Interrupted) => Exit::Interrupted,
        _ => exit_of(&results, &report),
    }
}

/// The record of a case, with health indicators if its run was stored.
fn record(result: &CaseResult) -> CaseRecord {
    let stored = result
        .folder
        .as_ref()
        .filter(|_| result.outcome.explained().is_some());
    CaseRecord {
        // An invalid object in the journal causes an error, and the report then has no indicators.
        health: stored
            .and_then(|folder| health::indicators_of_stored_run(folder).ok())
            .unwrap_or_default(),
        ..CaseRecord::new(result)
    }
}

impl EarlyEnd {
    /// Returns the reason that the report is partial, and prints it with a remedy. `output`: the folder given by `--output`.
    fn reason(&self, report: &Report, output: Option<&Path>) -> String {
        let (ended, all) = (report.cases.len(), report.cases.len() + report.unfinished.len());
        let open = report.unfinished.len();
        match self {
            EarlyEnd::Interrupted => {
                let named = output.map(|folder| format!(" {}", quoted(&folder.display().to_string())));
                eprintln!(
                    "interrupted: {open} of {all} cases have no verdict; `{program} rerun{}` runs them",
                    named.unwrap_or_default(),
                    program = program()
                );
                format!("interrupted after {ended} of {all} cases")
            }
            EarlyEnd::NeverReady => {
                eprintln!(
                    "error: stopped after {NEVER_READY} cases in a row in which a program was never ready; correct how that program is \
                     started, or continue anyway with --keep-going"
                );
                format!(
                    "stopped after {ended} of {all} cases: a program was never ready in {NEVER_READY} cases in a row"
                )
            }
        }
    }
}

fn progress(cases: usize) -> ProgressBar {
    out::progress(cases, "{bar:30} {pos}/{len} cases")
}
