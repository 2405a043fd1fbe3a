//! `explore`: worlds and histories that nobody wrote, against the references or the programs of a manifest.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::ProgressBar;
use suites::explore::{Exploration, Explorer, Finding, Focus, Tries, Until, Written};
use suites::harness::manifest::Manifest;
use suites::harness::report::Paint;
use suites::report::{IN_MEMORY, Report, SettingsRecord, SystemRecord, WriteError, write_all};
use suites::{Session, Turns};

use crate::args::{at_least_one, patience};
use crate::built_in::built_in;
use crate::defect::Defect;
use crate::interrupt::interrupted;
use crate::manifest::{self, manifest};
use crate::out::{self, eprintln, println};
use crate::runner::options;
use crate::runtime::runtime;
use crate::{Exit, e2e, explore_defects, github, mutants, preflight};

/// Arguments of `explore`.
#[derive(Args)]
pub(crate) struct ExploreArgs {
    /// Explore the programs of that manifest instead of the references
    #[arg(long, value_name = "FILE", conflicts_with = "defect")]
    sut: Option<PathBuf>,
    /// The first world; the next ones have the numbers after it [default: drawn, and printed]
    #[arg(long)]
    seed: Option<u64>,
    /// Go on for so long, such as 30s or 10m [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = budget, conflicts_with = "worlds")]
    budget: Option<Duration>,
    /// Run so many worlds
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    worlds: Option<u64>,
    /// Only worlds for that: publisher, scheduler, cleaner, or story, which is publisher and scheduler
    #[arg(long)]
    role: Option<&'static Focus>,
    /// Break one of the references on purpose, to see what exploration says
    #[arg(long, value_parser = Defect::named)]
    defect: Option<Defect>,
    /// Try every defect of the catalogue for the budget, and none, and say after how many worlds each is found
    #[arg(long, conflicts_with_all = ["defect", "sut", "worlds", "real_time"])]
    defects: bool,
    /// Write a case for each finding, and the reports, into that folder
    #[arg(long, value_name = "FOLDER", default_value = "target/explore")]
    output: PathBuf,
    /// Histories that are tried to make a finding small, at most
    #[arg(long, default_value_t = 500)]
    tries: usize,
    /// Worlds at the same time [default: one per processor, with --real-time 16, and with --sut 4]
    #[arg(long, value_parser = at_least_one)]
    jobs: Option<usize>,
    /// Run in real time, on sockets; otherwise time is simulated, unless --sut needs the real one
    #[arg(long)]
    real_time: bool,
    /// Multiply every bound, for slow machines
    #[arg(long, default_value_t = 1.0, value_parser = patience)]
    patience: f64,
}

/// How long worlds are explored, unless the user says otherwise.
const BUDGET: Duration = Duration::from_secs(60);

fn budget(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.len() - text.len().min(1));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err("write a time such as 30s, 10m or 8h".to_owned()),
    };
    match number.parse::<u64>() {
        Ok(number @ 1..) => Ok(Duration::from_secs(number.saturating_mul(seconds))),
        _ => Err("write a time such as 30s, 10m or 8h".to_owned()),
    }
}

/// Explores.
pub(crate) fn run(args: &ExploreArgs) -> Exit {
    attempt(args).unwrap_or_else(|exit| exit)
}

fn attempt(args: &ExploreArgs) -> Result<Exit, Exit> {
    mutants::at_hand(args.defect)?;
    let manifest = args.sut.as_deref().map(manifest).transpose()?;
    preflight::temporary_files()?;
    let jobs = preflight::jobs(args.jobs.unwrap_or_else(|| default_jobs(args)))?;
    let seed = args.seed.unwrap_or_else(drawn_seed);
    let explorer = |defect, manifest, tries| Explorer {
        session: Arc::new(session(args, defect, manifest, jobs)),
        focus: args.role,
        seed,
        jobs,
        is_simulated: is_simulated(args),
        tries: Tries {
            max: tries,
            together: jobs,
        },
    };
    if args.defects {
        eprintln!("exploring from seed {seed}");
        // That one is found is enough.
        return explore_defects::run(args.budget.unwrap_or(BUDGET), |defect| explorer(defect, None, 0));
    }
    let explorer = Arc::new(explorer(args.defect, manifest, args.tries));
    let runtime = runtime()?;
    let exit = runtime.block_on(explore(&explorer, args));
    // A world that goes on for ever is left behind.
    runtime.shutdown_background();
    Ok(exit)
}

/// Other programs live in real time.
fn is_simulated(args: &ExploreArgs) -> bool {
    args.sut.is_none() && !args.real_time
}

fn default_jobs(args: &ExploreArgs) -> usize {
    let per_core = match (is_simulated(args), args.sut.is_some()) {
        (true, _) => 1,
        (false, true) => 4,
        (false, false) => 16,
    };
    std::thread::available_parallelism().map_or(4, |cores| cores.get() * per_core)
}

/// A seed that is easy to copy.
fn drawn_seed() -> u64 {
    let now = jiff::Timestamp::now().as_nanosecond();
    u64::try_from(now.unsigned_abs() % 1_000_000_000).unwrap_or_default()
}

fn session(args: &ExploreArgs, defect: Option<Defect>, manifest: Option<Manifest>, jobs: usize) -> Session {
    let mut systems = built_in(defect);
    if let Some(manifest) = &manifest {
        manifest.install(&mut systems);
    }
    Session {
        systems,
        options: options(args.patience, manifest.as_ref(), defect),
        manifest,
        turns: Arc::new(Turns::of(jobs)),
        attempts: 1,
        keep: None,
        keep_passed: false,
        rerun: "cargo xtask repro".to_owned(),
    }
}

/// What came of it, and how it ended.
struct Ended {
    exploration: Exploration,
    written: Vec<Written>,
    elapsed: Duration,
    is_interrupted: bool,
}

async fn explore(explorer: &Arc<Explorer>, args: &ExploreArgs) -> Exit {
    let began = Instant::now();
    let until = match args.worlds {
        Some(worlds) => Until::Worlds(worlds),
        None => Until::Instant(began + args.budget.unwrap_or(BUDGET)),
    };
    eprintln!("exploring from seed {}", explorer.seed);
    let bar = progress();
    let mut exploration = Exploration::default();
    let mut tell = |exploration: &Exploration| bar.set_message(line(exploration, began.elapsed()));
    let is_interrupted = tokio::select! {
        () = explorer.explore(until, &mut exploration, &mut tell) => false,
        () = interrupted() => true,
    };
    let elapsed = began.elapsed();
    bar.set_message("writing cases");
    let mut written = Vec::new();
    for finding in &exploration.findings {
        match explorer.write(finding, &args.output).await {
            Ok(case) => written.push(case),
            Err(error) => {
                eprintln!("error: {error}");
                return Exit::Environment;
            }
        }
    }
    bar.finish_and_clear();
    let ended = Ended {
        exploration,
        written,
        elapsed,
        is_interrupted,
    };
    summarize(explorer, args, &ended);
    match write(explorer, args, &ended) {
        Ok(()) => exit(&ended),
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Environment
        }
    }
}

/// Writes the reports that cases have as well.
fn write(explorer: &Explorer, args: &ExploreArgs, ended: &Ended) -> Result<(), WriteError> {
    let session = &explorer.session;
    let manifest = session.manifest.as_ref();
    let settings = SettingsRecord::new(session.options, session.attempts, IN_MEMORY.to_owned());
    let command = vec![
        format!("explore{}", program(args)),
        format!("--seed={}", explorer.seed),
    ];
    let system = SystemRecord {
        // Drawn worlds say nothing of single features.
        features: Vec::new(),
        ..manifest.map_or_else(|| e2e::record(args.defect), manifest::record)
    };
    let mut report = Report {
        seconds: ended.elapsed.as_secs_f64(),
        limits: vec!["exploration draws what it runs".to_owned()],
        cases: ended.exploration.records(explorer.seed, &ended.written),
        ..Report::new(system, command, settings)
    };
    if ended.is_interrupted {
        report.limits.push("interrupted".to_owned());
    }
    report.settle();
    github::annotate(&report);
    github::summarize(&report);
    write_all(&report, &args.output)
}

fn progress() -> ProgressBar {
    let bar = out::progress(0, "{spinner} {msg}");
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// How it goes.
fn line(exploration: &Exploration, elapsed: Duration) -> String {
    let shrinking = exploration
        .shrinking
        .map(|tried| format!("; making one small, {tried} tried"));
    format!(
        "{} worlds, {:.0}/s, {} values of {} axes, {} findings{}",
        exploration.worlds,
        per_second(exploration.worlds, elapsed),
        exploration.axes.values(),
        exploration.axes.iter().count(),
        exploration.findings.len(),
        shrinking.unwrap_or_default()
    )
}

// So many worlds that this were not exact cannot be run.
fn per_second(worlds: u64, elapsed: Duration) -> f64 {
    worlds as f64 / elapsed.as_secs_f64().max(f64::EPSILON)
}

fn summarize(explorer: &Explorer, args: &ExploreArgs, ended: &Ended) {
    let exploration = &ended.exploration;
    for (axis, values) in exploration.axes.iter() {
        let values: Vec<String> = values
            .iter()
            .map(|(value, count)| format!("{value} {count}"))
            .collect();
        println!("{axis:<10}  {}", values.join(", "));
    }
    println!();
    let paint = Paint::of(&std::io::stdout());
    for (seed, why) in &exploration.broken {
        println!("{}  seed {seed}: {why}", paint.bad("BROKEN"));
    }
    for (finding, case) in exploration.findings.iter().zip(&ended.written) {
        found(args, finding, case, paint);
    }
    let notes = [
        (exploration.known.values().sum(), "known failures"),
        (exploration.skipped.values().sum(), "skipped"),
        (exploration.undecided.len() as u64, "undecided"),
    ];
    let notes: Vec<String> = notes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    for (place, count) in &exploration.known {
        println!("known       {place}: {count} worlds");
    }
    for (why, count) in &exploration.skipped {
        println!("skipped     {count} worlds: {why}");
    }
    println!(
        "{}seed {}: {} worlds, {} events in {:.1}s, {:.1} worlds/s; {} findings{}",
        if ended.is_interrupted { "interrupted; " } else { "" },
        explorer.seed,
        exploration.worlds,
        exploration.events,
        ended.elapsed.as_secs_f64(),
        per_second(exploration.worlds, ended.elapsed),
        exploration.findings.len(),
        notes.concat()
    );
}

/// A finding: what it is, the case that shows it, and how to see it again.
fn found(args: &ExploreArgs, finding: &Finding, case: &Written, paint: Paint) {
    let worlds = match finding.worlds {
        1 => "one world".to_owned(),
        worlds => format!("{worlds} worlds"),
    };
    println!("{}  {}  in {worlds}", paint.bad("FOUND"), finding.signature);
    if let Some(explained) = case.result.ended.explained() {
        println!("  {}", explained.said.one_line());
    }
    if !case.is_repeated {
        println!("  it did not show again when the case was written: it may depend on chance");
    }
    let size = match finding.shrunk.is_smallest {
        true => "nothing of it can be left out",
        false => "it may be larger than it needs to be",
    };
    let program = program(args);
    let simulate = match is_simulated(args) {
        true => format!(" --simulate={}", finding.seed),
        false => String::new(),
    };
    println!("  case    {} ({size})", case.file.display());
    println!(
        "  repro   cargo xtask repro{program}{simulate} {}",
        suites::quoted(&case.file.display().to_string())
    );
    if let Some(folder) = &case.result.folder {
        println!(
            "  judge   cargo xtask judge {}",
            suites::quoted(&folder.display().to_string())
        );
    }
    let (seed, focus) = (finding.seed, finding.focus);
    println!("  again   cargo xtask explore{program} --seed {seed} --worlds 1 --role {focus}\n");
}

/// The options that say which programs are explored.
fn program(args: &ExploreArgs) -> String {
    let sut = args.sut.as_ref().map(|sut| sut.display().to_string());
    let options = [
        ("sut", sut),
        ("defect", args.defect.map(|defect| defect.to_string())),
    ];
    let given = options
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    given
        .map(|(name, value)| format!(" --{name} {}", suites::quoted(&value)))
        .collect()
}

fn exit(ended: &Ended) -> Exit {
    let exploration = &ended.exploration;
    if !exploration.findings.is_empty() {
        return Exit::Failed;
    }
    if ended.is_interrupted {
        return Exit::Interrupted;
    }
    if !exploration.broken.is_empty() {
        return Exit::Environment;
    }
    match (exploration.worlds, exploration.undecided.is_empty()) {
        (0, _) => Exit::Nothing,
        (_, false) => Exit::Inconclusive,
        (_, true) => Exit::Passed,
    }
}
