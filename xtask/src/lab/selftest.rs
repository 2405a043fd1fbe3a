//! `selftest`: runs the cases against references with injected defects, and reports which defects are detected.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use labs::CommandResult;
use labs::selftest::{
    self, Build, DefectResult, Observe, Observed, Pairing, Selftest, SelftestReport, ShardTrials, Trial,
    ViolationCoverage,
};
use suites::harness::RunOptions;
use suites::harness::invocation::program;
use suites::harness::manifest::Manifest;
use suites::harness::plan::Plan;
use suites::harness::report::Paint;
use suites::report::{ShardsRecord, WriteError, now, write_file};
use suites::{Defects, ShardFile};

use crate::args::{PartArgs, SelectArgs, at_least_one, patience};
use crate::interrupt::interrupted;
use crate::manifest::manifest_for;
use crate::out::{self, eprintln, print, println};
use crate::runner::options;
use crate::runtime::runtime;
use crate::selected::selected;
use crate::{Exit, mutants, parts, preflight};
use references::Defect;
use references::built_in;

/// Arguments of `selftest`.
#[derive(Args)]
pub(crate) struct SelftestArgs {
    #[command(flatten)]
    select: SelectArgs,
    /// Inject traffic defects into the programs of this manifest instead of the references, which requires no source code
    #[arg(long, value_name = "FILE", conflicts_with = "full")]
    sut: Option<PathBuf>,
    /// Inject only this defect; the option can be repeated
    #[arg(long, value_name = "NAME", value_parser = Defect::named)]
    defect: Vec<Defect>,
    /// Run every case with every defect whose code the case executes; takes a quarter of an hour
    #[arg(long)]
    full: bool,
    /// Describe each defect, what it is modelled on, and which case detects it with which failure, without running anything
    #[arg(long, conflicts_with_all = ["full", "output", "json"])]
    list: bool,
    /// Run in real time, on sockets [default: simulated time, unless --sut needs real time]
    #[arg(long)]
    real_time: bool,
    /// Runs to execute concurrently; in real time most runs only wait [default: 1 per CPU; in real time 32, 4 with --sut]
    #[arg(long, value_parser = at_least_one)]
    jobs: Option<usize>,
    /// Scale all timeouts by this factor, for slow machines
    #[arg(long, default_value_t = 1.0, value_parser = patience)]
    patience: f64,
    /// Print the result as JSON instead of text
    #[arg(long)]
    json: bool,
    /// Write selftest.html, selftest.md, selftest.json, and the failures of the cases that must detect the defects, into this folder
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    part: PartArgs,
}

/// Seed of all runs in simulated time.
const SEED: u64 = 0;

/// Default of `--jobs`. In real time, nearly all runs wait for a timeout, but their programs poll meanwhile.
fn default_jobs(args: &SelftestArgs) -> usize {
    let per_core = match () {
        // Few concurrent runs, because programs under test need CPU time to start.
        () if args.sut.is_some() => 4,
        () if args.real_time => 32,
        () => 1,
    };
    std::thread::available_parallelism().map_or(64, |cores| cores.get() * per_core)
}

/// The selected defects. Mutants change the source code of the references, so they do not apply to other programs.
fn defects(args: &SelftestArgs, manifest: Option<&Manifest>) -> Result<Vec<suites::Defect>, Exit> {
    let mut defects: Vec<suites::Defect> = Defects::load().iter().cloned().collect();
    defects.retain(|defect| {
        args.defect.is_empty() || args.defect.iter().any(|it| it.to_string() == defect.name)
    });
    let Some(manifest) = manifest else {
        if args.defect.is_empty() && !args.list {
            let mut named: Vec<Defect> = defects
                .iter()
                .filter_map(|defect| Defect::named(&defect.name).ok())
                .collect();
            mutants::remove_unavailable(&mut named);
            defects.retain(|defect| Defect::named(&defect.name).is_ok_and(|it| named.contains(&it)));
        }
        return Ok(defects);
    };
    let is_played = |defect: &suites::Defect| manifest.roles().any(|role| defect.role() == Some(role));
    let (fit, excluded): (Vec<_>, Vec<_>) = defects
        .into_iter()
        .partition(|defect| !defect.wire.is_empty() && is_played(defect));
    if let Some(other) = excluded.first().filter(|_| !args.defect.is_empty()) {
        eprintln!(
            "error: {} cannot be tested with the programs of this manifest: {}; `{program} selftest --list` lists the defects that can",
            other.name,
            match is_played(other) {
                true => "the defect is a mutant of the references' source code",
                false => "none of the programs has the role of the defect",
            },
            program = program()
        );
        return Err(Exit::Usage);
    }
    Ok(fit)
}

/// The cases, adapted to the programs of a manifest, without cases that are skipped or known to fail for these programs.
fn plans_of(plans: Vec<Plan>, manifest: Option<&Manifest>) -> Result<Vec<Arc<Plan>>, Exit> {
    let Some(manifest) = manifest else {
        return Ok(plans.into_iter().map(Arc::new).collect());
    };
    let is_fit = |plan: &Plan| {
        manifest.skip_reason(plan).is_none() && manifest.known_failures(plan.id()).next().is_none()
    };
    let adapted = plans
        .iter()
        .filter(|plan| is_fit(plan))
        .map(|plan| manifest.adapt(plan).map(Arc::new));
    adapted
        .collect::<Result<_, _>>()
        .map_err(|error| Exit::Usage.with_error(error))
}

/// Runs the selected cases against the selected defects.
pub(crate) fn run(args: &SelftestArgs) -> Result<Exit, Exit> {
    let manifest = args
        .sut
        .as_deref()
        .map(|path| manifest_for(path, &args.select.files()))
        .transpose()?;
    let defects = defects(args, manifest.as_ref())?;
    if args.list {
        print_defects(&defects);
        return Ok(Exit::Passed);
    }
    super::output_for_shard(&args.part, args.output.as_deref())?;
    mutants::ensure_available(
        defects
            .iter()
            .filter_map(|defect| Defect::named(&defect.name).ok()),
    )?;
    let plans = plans_of(selected(&args.select)?, manifest.as_ref())?;
    args.output
        .as_deref()
        .map(preflight::check_output_folder)
        .transpose()?;
    preflight::temporary_files()?;
    let jobs = preflight::limit_jobs(args.jobs.unwrap_or_else(|| default_jobs(args)))?;
    let selftest = Arc::new(Selftest {
        defects,
        plans,
        is_whole: manifest.is_none()
            && args.defect.is_empty()
            && !args.select.restricts_cases()
            && mutants::can_be_available(),
        pairing: if args.full { Pairing::Full } else { Pairing::Named },
        jobs,
        observe: execution_observer(args),
        build: build(args, manifest.clone()),
        sut: args.sut.as_ref().map(|path| path.display().to_string()),
        manifest,
        shard: args.part.shard,
    });
    if let Some(shard) = args.part.shard.filter(|_| selftest.run_count() == 0) {
        return Err(parts::print_empty_shard(shard));
    }
    if selftest.run_count() == 0 {
        eprintln!(
            "error: none of these cases is listed for that defect; `--full` runs them against it anyway"
        );
        return Ok(Exit::NoCases);
    }
    Ok(runtime()?.block_on(run_all(selftest, args)))
}

/// A function that builds the references, or the programs of a manifest, with a defect.
fn build(args: &SelftestArgs, manifest: Option<Manifest>) -> Arc<Build> {
    let patience = args.patience;
    let seed = (manifest.is_none() && !args.real_time).then_some(SEED);
    Arc::new(move |name| {
        // `Defect::named` cannot fail: a test verifies that every defect of the catalogue can be injected.
        let defect = name.and_then(|name| Defect::named(name).ok());
        let options = RunOptions {
            seed,
            ..options(patience, manifest.as_ref(), defect)
        };
        let Some(manifest) = &manifest else {
            return (built_in(defect), options);
        };
        let mut systems = built_in(None);
        manifest.install(&mut systems);
        if let Some(defect) = defect {
            defect.interpose(&mut systems);
        }
        (systems, options)
    })
}

/// A function that determines the defects whose code a case executes. A case runs only with these defects. `None` in real time, and without
/// `--full`.
fn execution_observer(args: &SelftestArgs) -> Option<Arc<Observe>> {
    if !args.full || args.real_time {
        return None;
    }
    let options = RunOptions {
        seed: Some(SEED),
        ..options(args.patience, None, None)
    };
    Some(Arc::new(move || {
        let (systems, reached) = references::observed_references();
        Observed {
            systems,
            options: options.clone(),
            reached,
        }
    }))
}

async fn run_all(selftest: Arc<Selftest>, args: &SelftestArgs) -> Exit {
    let (began, started) = (Instant::now(), now());
    let bar = out::progress(selftest.run_count(), "{bar:30} {pos}/{len} runs");
    let mut progress_log = out::ProgressLog::begin();
    let mut completed: Vec<Trial> = Vec::new();
    let each = |trial: &Trial| {
        bar.inc(1);
        progress_log.log(|| format!("{} of {} runs", bar.position(), selftest.run_count()));
        completed.push(trial.clone());
    };
    let whole = tokio::select! {
        trials = selftest.run(each) => Some(trials),
        () = interrupted() => None,
    };
    bar.finish_and_clear();
    let seconds = began.elapsed().as_secs_f64();
    let timed = |report: SelftestReport| SelftestReport {
        started: started.clone(),
        seconds,
        ..report
    };
    let Some(trials) = whole else {
        let partial = format!(
            "interrupted after {} of {} runs",
            completed.len(),
            selftest.run_count()
        );
        let (scope, trials) = selftest.finished_part(completed);
        let report = SelftestReport {
            partial: Some(partial),
            ..SelftestReport::new(&scope, &trials, command(args))
        };
        return match print_and_write(&timed(report), args.json, args.output.as_deref()) {
            Exit::Environment => Exit::Environment,
            _ => Exit::Interrupted,
        };
    };
    let shards = shards(&selftest, args);
    let share = ShardTrials::new(selftest.scope(), trials);
    let report = share.clone().report(shards.as_ref(), command(args));
    let exit = print_and_write(&timed(report), args.json, args.output.as_deref());
    match shards.zip(args.output.as_deref()) {
        Some((shards, folder)) => {
            let part = ShardFile::new(
                command(args),
                shards,
                started.clone(),
                seconds,
                CommandResult::Held(share),
            );
            parts::write_part(part, folder, exit)
        }
        None => exit,
    }
}

/// The shard of this machine, if any, with the digest of the whole self-test.
fn shards(selftest: &Selftest, args: &SelftestArgs) -> Option<ShardsRecord> {
    let shard = args.part.shard?;
    let defects = selftest.defects.iter().map(|defect| defect.name.as_str());
    let plans = selftest
        .plans
        .iter()
        .flat_map(|plan| [plan.id(), plan.text.as_str()]);
    let texts = defects.chain(plans);
    Some(ShardsRecord::of(shard, texts, args.part.run_id.clone()))
}

pub(crate) fn print_and_write(report: &SelftestReport, json: bool, output: Option<&Path>) -> Exit {
    if json {
        print!("{}", report.to_json());
    } else {
        summarize(report);
    }
    if let Some(folder) = output
        && let Err(error) = write(report, folder)
    {
        return Exit::Environment.with_error(error);
    }
    match (report.problems.is_empty(), report.undecided.is_empty()) {
        (false, _) => Exit::Failed,
        (true, false) => Exit::Inconclusive,
        (true, true) => Exit::Passed,
    }
}

/// How many runs were skipped because the case does not execute the code of the defect, as text.
fn skipped_runs(report: &SelftestReport) -> String {
    match report.unreached {
        0 => String::new(),
        pairs => format!(", and {pairs} left out: the case never reaches the code that the defect changes"),
    }
}

fn command(args: &SelftestArgs) -> Vec<String> {
    let mut command = vec!["selftest".to_owned()];
    command.extend(args.sut.as_ref().map(|path| format!("--sut={}", path.display())));
    command.extend(args.full.then(|| "--full".to_owned()));
    command.extend(args.defect.iter().map(|defect| format!("--defect={defect}")));
    command.extend(args.select.selection().ids);
    command
}

/// Prints a line per defect, the problems, and finally the counts.
fn summarize(report: &SelftestReport) {
    let paint = Paint::of(&std::io::stdout());
    let width = report
        .defects
        .iter()
        .map(|defect| defect.name.len())
        .max()
        .unwrap_or(0);
    let has_run = |defect: &&DefectResult| defect.caught_by.len() + defect.missed_by.len() > 0;
    for defect in report.defects.iter().filter(has_run) {
        let word = format!("{:<9}", defect.status());
        let word = match defect.status() {
            "caught" => paint.good(&word),
            "-" => paint.dim(&word),
            _ => paint.bad(&word),
        };
        let claims: Vec<&str> = defect.claims.iter().map(|claim| claim.case.as_str()).collect();
        let claims = if claims.is_empty() {
            "the case that detects the defect is not selected".to_owned()
        } else {
            claims.join("  ")
        };
        let ran = defect.caught_by.len() + defect.missed_by.len();
        println!(
            "{word}  {:<width$}  by {:>3} of {ran:<3}  {claims}",
            defect.name,
            defect.caught_by.len()
        );
    }
    if !report.problems.is_empty() {
        println!();
    }
    for problem in &report.problems {
        let case = problem.case.as_deref().unwrap_or_default();
        println!("{}  {case}  {}", paint.bad("PROBLEM"), problem.text);
    }
    for open in &report.undecided {
        println!("{}  {open}", paint.bad("UNDECIDED"));
    }
    println!(
        "\n{:.1}s, {} runs{}",
        report.seconds,
        report.runs,
        skipped_runs(report)
    );
    if let Some(demands) = &report.demands {
        print_violation_coverage(demands);
    }
    println!(
        "{} of {} defects detected as expected, {}, {} problems",
        report.count_defects_with_claims_held(),
        report
            .defects
            .iter()
            .filter(|defect| !defect.claims.is_empty())
            .count(),
        report.baseline_summary(),
        report.problems.len()
    );
    if let Some(partial) = &report.partial {
        println!("partial: {partial}; a defect is only reported if all its cases ran");
    }
}

/// Prints the requirements of core cases that no detected defect violates, and the counts of all requirements.
fn print_violation_coverage(demands: &ViolationCoverage) {
    let files = &demands.files;
    for open in files.unbroken_core() {
        println!("never violated  {}  {}", open.requirement, open.file);
    }
    println!("{files}");
    println!(
        "{} of {} requirements of cases have a detected violation; {} of the others belong to core cases",
        demands.broken, demands.named, demands.unbroken_core
    );
}

fn print_defects(defects: &[suites::Defect]) {
    let paint = Paint::of(&std::io::stdout());
    for defect in defects {
        println!("{}  {}", paint.strong(&defect.name), defect.text);
        println!("    modelled on      {}", defect.origin());
        if let Ok(defect) = Defect::named(&defect.name) {
            println!("    injected as      {}", defect.kind());
        }
        for (case, words) in &defect.claims {
            println!("    detected by      {case}");
            println!("    expected failure {words}");
        }
    }
}

fn write(report: &SelftestReport, folder: &Path) -> Result<(), WriteError> {
    write_file(folder, "selftest.json", &report.to_json())?;
    write_file(folder, "selftest.md", &selftest::markdown(report))?;
    write_file(folder, "selftest.html", &selftest::html(report))?;
    for defect in &report.defects {
        let texts = defect
            .claims
            .iter()
            .filter_map(|claim| claim.explanation.as_deref());
        let texts: Vec<&str> = texts.collect();
        if !texts.is_empty() {
            let name = format!("{}.txt", defect.name);
            write_file(&folder.join("failures"), &name, &texts.join("\n"))?;
        }
    }
    Ok(())
}
