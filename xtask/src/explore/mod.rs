//! `explore`: worlds and histories that nobody wrote, against the references or the programs of a manifest.

mod defects;
mod show;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use suites::explore::{Exploration, Explorer, FOCUSES, Focus, Tries, Until, Written};
use suites::harness::invocation::program;
use suites::harness::manifest::Manifest;
use suites::{Session, Turns};

use crate::args::{at_least_one, patience};
use crate::built_in::built_in;
use crate::defect::Defect;
use crate::interrupt::interrupted;
use crate::manifest::manifest;
use crate::out::eprintln;
use crate::runner::options;
use crate::runtime::runtime;
use crate::{Exit, mutants, places, preflight};

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
    #[arg(long, value_name = "FOLDER", default_value_os_t = places::of("explore"))]
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
    places::prepare(&args.output)?;
    let manifest = args.sut.as_deref().map(manifest).transpose()?;
    preflight::output(&args.output)?;
    preflight::temporary_files()?;
    let jobs = preflight::jobs(args.jobs.unwrap_or_else(|| default_jobs(args)))?;
    let seed = args.seed.unwrap_or_else(drawn_seed);
    let explorer = |defect, manifest, tries| Explorer {
        session: Arc::new(session(args, defect, manifest, jobs)),
        focuses: focuses(args, defect),
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
        return defects::run(args.budget.unwrap_or(BUDGET), |defect| explorer(defect, None, 0));
    }
    let explorer = Arc::new(explorer(args.defect, manifest, args.tries));
    let runtime = runtime()?;
    let exit = runtime.block_on(explore(&explorer, args));
    // A world that goes on for ever is left behind.
    runtime.shutdown_background();
    Ok(exit)
}

/// What worlds are about: what was asked for, or all in which a broken program plays a part.
fn focuses(args: &ExploreArgs, defect: Option<Defect>) -> Vec<&'static Focus> {
    let broken = defect.and_then(Defect::role);
    match (args.role, broken) {
        (Some(wanted), _) => vec![wanted],
        (None, Some(role)) => FOCUSES.iter().filter(|focus| focus.has(role)).collect(),
        (None, None) => Vec::new(),
    }
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
        rerun: format!("{} repro", program()),
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
    let bar = show::progress();
    let mut exploration = Exploration::default();
    let mut tell = |exploration: &Exploration| bar.set_message(show::line(exploration, began.elapsed()));
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
    show::summarize(explorer, args, &ended);
    match show::write_reports(explorer, args, &ended) {
        Ok(()) => exit(&ended),
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Environment
        }
    }
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
