//! `selftest`: holds the cases against the defects of the references, and says which bite.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use suites::Defects;
use suites::harness::RunOptions;
use suites::harness::report::Paint;
use suites::report::{WriteError, write_file};
use suites::selftest::{self, Build, DefectBite, Reach, Selftest, SelftestReport, Trial};

use crate::args::{SelectArgs, at_least_one, patience};
use crate::built_in::{Defect, built_in};
use crate::interrupt::interrupted;
use crate::out::{self, eprintln, print, println};
use crate::selected::selected;
use crate::{Exit, preflight};

/// Arguments of `selftest`.
#[derive(Args)]
pub(crate) struct SelftestArgs {
    #[command(flatten)]
    select: SelectArgs,
    /// Only that defect; may be given several times
    #[arg(long, value_name = "NAME", value_parser = Defect::named)]
    defect: Vec<Defect>,
    /// Hold every defect against every case that runs what it breaks: a quarter of an hour
    #[arg(long)]
    full: bool,
    /// Say what each defect does, what it is modelled on, and which case detects it with which failure, and run nothing
    #[arg(long, conflicts_with_all = ["full", "output", "json"])]
    list: bool,
    /// Runs at the same time; most of them wait for a bound
    #[arg(long, default_value_t = default_jobs(), value_parser = at_least_one)]
    jobs: usize,
    /// Multiply every bound, for slow machines
    #[arg(long, default_value_t = 1.0, value_parser = patience)]
    patience: f64,
    /// Print the record as JSON instead of words
    #[arg(long)]
    json: bool,
    /// Write selftest.html, selftest.md, selftest.json and the failure of each claim into that folder
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Nearly all runs wait for a bound to pass, but they poll meanwhile.
fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(64, |cores| cores.get() * 32)
}

/// Holds the selected cases against the selected defects.
pub(crate) fn run(args: &SelftestArgs) -> Exit {
    let catalogue = Defects::load();
    let is_meant = |name: &str| args.defect.is_empty() || args.defect.iter().any(|it| it.to_string() == name);
    let defects: Vec<_> = catalogue
        .iter()
        .filter(|defect| is_meant(&defect.name))
        .cloned()
        .collect();
    if args.list {
        list(&defects);
        return Exit::Passed;
    }
    let ready = selected(&args.select).and_then(|plans| {
        preflight::temporary_files()?;
        Ok((plans, preflight::jobs(args.jobs)?))
    });
    let (plans, jobs) = match ready {
        Ok(ready) => ready,
        Err(exit) => return exit,
    };
    let selftest = Arc::new(Selftest {
        defects,
        plans: plans.into_iter().map(Arc::new).collect(),
        is_whole: args.defect.is_empty() && !args.select.is_narrow(),
        reach: if args.full { Reach::Full } else { Reach::Named },
        jobs,
        build: build(args.patience),
    });
    if selftest.size() == 0 {
        eprintln!(
            "error: none of these cases is there for that defect; `--full` holds them against it all the same"
        );
        return Exit::Nothing;
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!(
                "error: the asynchronous runtime does not start: {error}; check the limits of the process"
            );
            return Exit::Environment;
        }
    };
    runtime.block_on(async {
        tokio::select! {
            exit = hold(selftest, args) => exit,
            () = interrupted() => {
                eprintln!("interrupted: nothing is said about what had not run");
                Exit::Interrupted
            }
        }
    })
}

/// The references, broken as asked.
fn build(patience: f64) -> Arc<Build> {
    Arc::new(move |name| {
        let options = RunOptions {
            patience,
            ..RunOptions::default()
        };
        // The catalogue knows no other names, which a test makes sure of.
        let defect = name.and_then(|name| Defect::named(name).ok());
        (
            built_in(defect),
            defect.map_or(options, |defect| defect.spoil(options)),
        )
    })
}

async fn hold(selftest: Arc<Selftest>, args: &SelftestArgs) -> Exit {
    let (began, started) = (Instant::now(), jiff::Timestamp::now());
    let bar = out::progress(selftest.size(), "{bar:30} {pos}/{len} runs");
    let trials: Vec<Trial> = selftest.run(|_| bar.inc(1)).await;
    bar.finish_and_clear();
    let mut report = SelftestReport::new(&selftest, &trials, command(args));
    report.started = started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    report.seconds = began.elapsed().as_secs_f64();
    if args.json {
        print!("{}", report.to_json());
    } else {
        summarize(&report);
    }
    if let Some(folder) = &args.output
        && let Err(error) = write(&report, folder)
    {
        eprintln!("error: {error}");
        return Exit::Environment;
    }
    match (report.problems.is_empty(), report.undecided.is_empty()) {
        (false, _) => Exit::Failed,
        (true, false) => Exit::Inconclusive,
        (true, true) => Exit::Passed,
    }
}

fn command(args: &SelftestArgs) -> Vec<String> {
    let mut command = vec!["selftest".to_owned()];
    command.extend(args.full.then(|| "--full".to_owned()));
    command.extend(args.defect.iter().map(|defect| format!("--defect={defect}")));
    command.extend(args.select.selection().ids);
    command
}

/// A line per defect, then what is wrong, then the counts.
fn summarize(report: &SelftestReport) {
    let paint = Paint::of(&std::io::stdout());
    let width = report
        .defects
        .iter()
        .map(|defect| defect.name.len())
        .max()
        .unwrap_or(0);
    let has_run = |defect: &&DefectBite| defect.caught_by.len() + defect.missed_by.len() > 0;
    for defect in report.defects.iter().filter(has_run) {
        let word = format!("{:<9}", defect.word());
        let word = match defect.word() {
            "caught" => paint.good(&word),
            "-" => paint.dim(&word),
            _ => paint.bad(&word),
        };
        let claims: Vec<&str> = defect.claims.iter().map(|claim| claim.case.as_str()).collect();
        let claims = if claims.is_empty() {
            "the case that claims it is not selected".to_owned()
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
        println!(
            "{}  {open}  the machine was too busy to tell",
            paint.bad("UNDECIDED")
        );
    }
    println!("\n{:.1}s, {} runs", report.seconds, report.runs);
    println!(
        "{} of {} defects detected as expected, {} of {} cases pass without a defect, {} problems",
        report.claims_held(),
        report
            .defects
            .iter()
            .filter(|defect| !defect.claims.is_empty())
            .count(),
        report.healthy,
        report.cases.len(),
        report.problems.len()
    );
}

/// Everything about the defects but how they end.
fn list(defects: &[suites::Defect]) {
    let paint = Paint::of(&std::io::stdout());
    for defect in defects {
        println!("{}  {}", paint.strong(&defect.name), defect.text);
        println!("    modelled on      {}", defect.source);
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
