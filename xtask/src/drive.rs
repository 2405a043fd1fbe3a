//! Runs cases, with progress on standard error and results on standard output, and writes the reports.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use indicatif::ProgressBar;
use suites::harness::manifest::Manifest;
use suites::harness::plan::Plan;
use suites::harness::report::Paint;
use suites::harness::system::Systems;
use suites::harness::{RunOptions, StartError};
use suites::report::{CaseRecord, FORMAT, KnownRecord, Report, SettingsRecord, ShardsRecord, SystemRecord};
use suites::{CaseResult, Ended, Session, Turns};

use crate::accept::Accept;
use crate::built_in::Defect;
use crate::command::{RunArgs, SelectArgs};
use crate::inspect::selected;
use crate::interrupt::interrupted;
use crate::keep::Keep;
use crate::out::{self, eprintln, println};
use crate::{Exit, apiserver, github, surroundings};

/// Which cases to run.
pub(crate) enum Cases<'a> {
    /// Those of a folder that are meant.
    Selected(&'a SelectArgs),
    /// Just these, and why they are not all.
    These(Vec<Plan>, String),
}

/// What to run, and how.
pub(crate) struct Drive<'a> {
    pub(crate) cases: Cases<'a>,
    pub(crate) run: &'a RunArgs,
    pub(crate) jobs: usize,
    pub(crate) systems: Systems,
    pub(crate) manifest: Option<Manifest>,
    pub(crate) defect: Option<Defect>,
    pub(crate) record: SystemRecord,
    /// Where the failures go as entries for a manifest.
    pub(crate) accept: Option<Accept>,
    /// The command, without what selects cases.
    pub(crate) command: Vec<String>,
}

/// Runs the selected cases.
pub(crate) fn drive(mut drive: Drive<'_>) -> Exit {
    let (mut plans, partial) = match &drive.cases {
        Cases::These(plans, why) => (plans.clone(), Some(why.clone())),
        Cases::Selected(select) => match selected(select) {
            Ok(plans) => (
                plans,
                select
                    .is_narrow()
                    .then(|| "only some cases were selected".to_owned()),
            ),
            Err(exit) => return exit,
        },
    };
    let shards = drive.run.shard.map(|shard| ShardsRecord::new(shard, &plans));
    // Some of the cases say nothing about entries for known failures, which may be there for the others.
    let catalogue = if partial.is_some() { 0 } else { plans.len() };
    if let Some(shard) = drive.run.shard {
        plans = shard.apply(plans);
        if plans.is_empty() {
            eprintln!("error: shard {shard} has no case; take fewer shards");
            return Exit::Nothing;
        }
    }
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    let options = options(drive.run.patience, drive.manifest.as_ref(), drive.defect);
    let ready = surroundings::temporary_files()
        .and_then(|()| surroundings::jobs(drive.jobs.min(plans.len())))
        .and_then(|jobs| Ok((jobs, Keep::claim(drive.run.output.as_deref())?)));
    let (jobs, keep) = match ready {
        Ok(ready) => ready,
        Err(exit) => return exit,
    };
    drive.command.extend(drive.run.words());
    let server = match runtime.block_on(apiserver::connect(drive.run.apiserver.as_deref())) {
        Ok(server) => server,
        Err(exit) => return exit,
    };
    drive.systems.api_server.clone_from(&server);
    let mut report = header(&drive, options, partial, catalogue);
    report.shards = shards;
    let accept = drive.accept.take();
    let session = Arc::new(Session {
        systems: drive.systems,
        manifest: drive.manifest,
        options,
        turns: Arc::new(Turns::of(jobs)),
        attempts: drive.run.attempts,
        keep: Some(keep.cases()),
        keep_passed: drive.run.keep_passed,
        rerun: format!("cargo xtask {}", out::command(&drive.command)),
    });
    let told = Told {
        keep: &keep,
        accept: accept.as_ref(),
    };
    let exit = runtime.block_on(run_all(session, plans, report, drive.run, &told));
    runtime.block_on(apiserver::leave(server, exit))
}

/// The runtime that everything runs on; the error is told already.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Exit> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| {
        eprintln!("error: the asynchronous runtime does not start: {error}; check the limits of the process");
        Exit::Environment
    })
}

/// How to run: a manifest may want a poll interval of its own.
pub(crate) fn options(patience: f64, manifest: Option<&Manifest>, defect: Option<Defect>) -> RunOptions {
    let usual = RunOptions::default();
    let options = RunOptions {
        patience,
        refresh: manifest
            .and_then(|manifest| manifest.refresh)
            .unwrap_or(usual.refresh),
        ..usual
    };
    defect.map_or(options, |defect| defect.spoil(options))
}

/// The report before any case has run.
fn header(drive: &Drive<'_>, options: RunOptions, partial: Option<String>, catalogue: usize) -> Report {
    let mut partial: Vec<String> = partial.into_iter().collect();
    if let Some(shard) = drive.run.shard {
        partial.push(format!("shard {shard}"));
    }
    /// With more patience than this, being late is no longer a failure that users would notice.
    const TOO_PATIENT: f64 = 10.0;
    if options.patience > TOO_PATIENT {
        partial.push(format!("bounds were multiplied by {}", options.patience));
    }
    Report {
        format: FORMAT,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        system: drive.record.clone(),
        started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        seconds: 0.0,
        command: drive.command.clone(),
        settings: SettingsRecord {
            refresh_milliseconds: u64::try_from(options.refresh.as_millis()).unwrap_or(u64::MAX),
            patience: options.patience,
            attempts: drive.run.attempts,
            api_server: apiserver::told(drive.systems.api_server.as_ref()),
        },
        partial,
        shards: None,
        unfinished: Vec::new(),
        findings: Vec::new(),
        catalogue,
        known_failures: drive
            .manifest
            .iter()
            .flat_map(Manifest::known)
            .map(KnownRecord::new)
            .collect(),
        counts: Default::default(),
        cases: Vec::new(),
    }
}

/// Where a run is told, besides on the terminal.
struct Told<'a> {
    keep: &'a Keep,
    /// Where what fails is written as entries for a manifest.
    accept: Option<&'a Accept>,
}

/// Why a run has no verdict for some of its cases.
enum Cut {
    /// Somebody asked for the end.
    Interrupted,
    /// A system never began to work, in so many cases in a row.
    NeverReady,
}

/// Cases in a row in which a system was never ready, after which it is taken to be broken for all: each costs half a minute.
const NEVER_READY: usize = 3;

/// Runs the cases, tells of them, and writes down what has ended, whether or not that is all of them.
///
/// An interrupt ends the run at once, but in order: sockets and temporary folders go away with their cases.
async fn run_all(
    session: Arc<Session>,
    plans: Vec<Plan>,
    mut report: Report,
    args: &RunArgs,
    told: &Told<'_>,
) -> Exit {
    let started = Instant::now();
    let ids: Vec<String> = plans.iter().map(|plan| plan.id().to_owned()).collect();
    let bar = progress(plans.len());
    let muted = github::mute();
    let manifest = session.manifest.clone();
    let (mut results, mut never_ready) = (Vec::new(), 0);
    let each = |result: CaseResult| {
        bar.inc(1);
        bar.suspend(|| announce(&result, args.verbose));
        never_ready = match &result.ended {
            Ended::Skipped(_) => never_ready,
            ended if ended.explained().is_some_and(|it| it.never_ready) => never_ready + 1,
            _ => 0,
        };
        results.push(result);
        match never_ready == NEVER_READY && !args.keep_going {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let cut = tokio::select! {
        () = session.run(plans, each) => (results.len() < ids.len()).then_some(Cut::NeverReady),
        () = interrupted() => Some(Cut::Interrupted),
    };
    bar.finish_and_clear();
    report.seconds = started.elapsed().as_secs_f64();
    report.cases = results.iter().map(CaseRecord::new).collect();
    for result in &results {
        report.add_findings(result, manifest.as_ref());
    }
    let has_ended = |id: &String| report.cases.iter().any(|case| case.id == *id);
    report.unfinished = ids.into_iter().filter(|id| !has_ended(id)).collect();
    let why = cut.as_ref().map(|cut| cut.reason(&report));
    report.partial.extend(why);
    report.settle();
    summarize(&report, args.verbose);
    drop(muted);
    github::annotate(&report);
    github::summarize(&report);
    let kept = told.keep.write(&report).map_err(|error| error.to_string());
    let unkept = results.iter().find_map(|result| result.unkept.clone());
    if let Some(why) = kept.err().or(unkept) {
        eprintln!("error: {why}");
        return Exit::Environment;
    }
    if let Some(Err(exit)) = told.accept.map(|accept| accept.write(&report)) {
        return exit;
    }
    match cut {
        Some(Cut::Interrupted) => Exit::Interrupted,
        _ => exit_of(&results, &report),
    }
}

impl Cut {
    /// Why the report is partial; told as well, with what to do.
    fn reason(&self, report: &Report) -> String {
        let (ended, all) = (report.cases.len(), report.cases.len() + report.unfinished.len());
        let open = report.unfinished.len();
        match self {
            Cut::Interrupted => {
                eprintln!(
                    "interrupted: {open} of {all} cases have no verdict; `cargo xtask rerun` runs them"
                );
                format!("interrupted after {ended} of {all} cases")
            }
            Cut::NeverReady => {
                eprintln!(
                    "error: stopped after {NEVER_READY} cases in a row in which a program was never ready; correct how it is \
                     started, or go on all the same with --keep-going"
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

/// What is said as a case ends: everything about a failure, a line for the rest if wanted.
pub(crate) fn announce(result: &CaseResult, verbose: bool) {
    let paint = Paint::of(&std::io::stdout());
    let id = result.plan.id();
    let line = |word: &str, more: &str| println!("{word}  {id}  {:.2}s{more}", result.elapsed.as_secs_f64());
    match &result.ended {
        Ended::Failed(explained) => println!("{}", explained.text),
        Ended::Flaky(attempt, explained) => {
            println!("{}", explained.text);
            line(&paint.bad("FLAKY"), &format!("  passed in attempt {attempt}"));
        }
        Ended::Inconclusive(explained) => {
            println!("{}", explained.text);
        }
        Ended::Broken(error) => println!("{}  {id}\n  {error}\n", paint.bad("ERROR")),
        Ended::Surprising(known) => line(
            &paint.strong("pass"),
            &format!("  is known to fail ({}): remove {}", known.issue, known.place),
        ),
        Ended::Passed if verbose => line(&paint.good("pass"), ""),
        Ended::Known(known, explained) if verbose => line(
            &paint.dim("known"),
            &format!("  {} ({}): {}", known.why, known.issue, explained.said.one_line()),
        ),
        Ended::Skipped(why) if verbose => println!("{}  {id}  {why}", paint.dim("skip")),
        Ended::Passed | Ended::Known(..) | Ended::Skipped(_) => {}
    }
}

/// One line per area, the counts, and last of all the ids that count against the system alone on lines.
pub(crate) fn summarize(report: &Report, verbose: bool) {
    if !verbose {
        areas(report);
    }
    println!("\n{:.1}s", report.seconds);
    if report.settings.api_server != apiserver::IN_MEMORY {
        println!("API server {}", report.settings.api_server);
    }
    println!("{}", report.counts_in_words());
    let repeated = report.cases.iter().filter(|case| case.repeated > 0).count();
    if repeated > 0 {
        println!("{repeated} ran again alone: beside the others the machine was too busy to tell");
    }
    for finding in &report.findings {
        let known = finding.known.as_ref().map_or("", |_| " (known)");
        println!(
            "finding: {} {}: {}{known}",
            finding.role, finding.rule, finding.text
        );
        println!("         {}", finding.extent());
    }
    for reason in &report.partial {
        println!("partial: {reason}");
    }
    for wrong in report.idle_entries() {
        println!("{}  {wrong}", Paint::of(&std::io::stdout()).bad("WRONG"));
    }
    for case in report.cases.iter().filter(|case| case.is_open()) {
        println!("{}", case.id);
    }
}

fn areas(report: &Report) {
    let areas = report.areas();
    let width = areas.keys().map(String::len).max().unwrap_or(0);
    let paint = Paint::of(&std::io::stdout());
    for (area, (passed, all)) in areas {
        let is_bad = report.bad().any(|case| case.area() == area);
        let word = match is_bad {
            false if passed == all => paint.good("pass"),
            false => paint.dim("part"),
            true => paint.bad("FAIL"),
        };
        println!("{word}  {area:<width$}  {passed:>3} of {all}");
    }
}

pub(crate) fn exit_of(results: &[CaseResult], report: &Report) -> Exit {
    let is_refused = |result: &CaseResult| matches!(&result.ended, Ended::Broken(StartError::Refused { .. }));
    match exit_of_record(report) {
        // A file that asks for what can't be done is wrong; anything else of that kind is this machine's.
        Exit::Environment if results.iter().any(is_refused) => Exit::Usage,
        exit => exit,
    }
}

/// The exit code that a record speaks for.
pub(crate) fn exit_of_record(report: &Report) -> Exit {
    match exit_of_verdicts(&report.cases) {
        exit @ (Exit::Failed | Exit::Environment) => exit,
        _ if report.open_findings().next().is_some() => Exit::Findings,
        _ if !report.unfinished.is_empty() => Exit::Incomplete,
        // An entry that excuses nothing makes a wrong file of the manifest, whatever else could not be decided.
        Exit::Passed | Exit::Inconclusive if !report.idle_entries().is_empty() => Exit::Usage,
        exit => exit,
    }
}

/// The exit code that these cases speak for.
pub(crate) fn exit_of_verdicts(cases: &[CaseRecord]) -> Exit {
    let has = |verdict: &str| cases.iter().any(|case| case.verdict == verdict);
    if cases.iter().any(CaseRecord::is_bad) {
        return Exit::Failed;
    }
    // A case that could not be run because of its file or of this machine says nothing about a system.
    if has("error") {
        return Exit::Environment;
    }
    if cases.iter().all(|case| case.verdict == "skip") {
        eprintln!("error: every selected case was skipped, so nothing was shown; see `-v` for the reasons");
        return Exit::Nothing;
    }
    if has("inconclusive") {
        return Exit::Inconclusive;
    }
    Exit::Passed
}
