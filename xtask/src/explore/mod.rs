//! `explore`: runs generated clusters and events against the references or the programs of a manifest.

mod defects;
mod gather;
mod show;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use suites::explore::{Exploration, Explored, Explorer, FOCUSES, Focus, Programs, ShrinkLimits, Until};
use suites::harness::invocation::program;
use suites::harness::manifest::Manifest;
use suites::report::{IN_MEMORY, SettingsRecord, ShardsRecord, SystemRecord, now};
use suites::{Session, Shard, ShardFile};

use crate::args::{PartArgs, at_least_one, patience, seed};
use crate::interrupt::interrupted;
use crate::lab::CommandResult;
use crate::manifest::{self, manifest};
use crate::out::{ProgressLog, eprintln};
use crate::runner::options;
use crate::runtime::runtime;
use crate::{Exit, e2e, folders, mutants, parts, preflight};
use references::Defect;
use references::built_in;

pub(crate) use gather::print_merged;

/// Arguments of `explore`.
#[derive(Args)]
pub(crate) struct ExploreArgs {
    /// Explore the programs of this manifest instead of the references
    #[arg(long, value_name = "FILE", conflicts_with = "defect")]
    sut: Option<PathBuf>,
    /// Seed of the first generated cluster; the seeds of further clusters are the following numbers [default: random, printed]
    #[arg(long, value_parser = seed)]
    seed: Option<u64>,
    /// Time limit, such as 30s or 10m [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = budget, conflicts_with = "worlds")]
    budget: Option<Duration>,
    /// Number of clusters to generate
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    worlds: Option<u64>,
    /// Only clusters that test this role: publisher, scheduler, cleaner, or story (publisher and scheduler)
    #[arg(long)]
    role: Option<&'static Focus>,
    /// Inject a defect into a reference implementation, to see whether exploration finds it
    #[arg(long, value_parser = Defect::named)]
    defect: Option<Defect>,
    /// For each defect of the catalogue, and once without a defect, explore until the first finding or for the budget; print the time until
    /// the finding
    #[arg(long, conflicts_with_all = ["defect", "sut", "worlds", "real_time", "shard"])]
    defects: bool,
    /// Write a case for each finding, and the reports, into this folder
    #[arg(long, value_name = "FOLDER", default_value_os_t = folders::default_folder("explore"))]
    output: PathBuf,
    /// Maximum number of runs for minimizing a finding
    #[arg(long, default_value_t = 500)]
    tries: usize,
    /// Clusters to run concurrently [default: 1 per CPU, 16 with --real-time, 4 with --sut]
    #[arg(long, value_parser = at_least_one)]
    jobs: Option<usize>,
    /// Run in real time, on sockets [default: simulated time, unless --sut needs real time]
    #[arg(long)]
    real_time: bool,
    /// Scale all timeouts by this factor, for slow machines
    #[arg(long, default_value_t = 1.0, value_parser = patience)]
    patience: f64,
    #[command(flatten)]
    part: PartArgs,
}

/// Default time limit of an exploration.
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

pub(crate) fn run(args: &ExploreArgs) -> Result<Exit, Exit> {
    mutants::ensure_available(args.defect)?;
    if let Some(shard) = args.part.shard {
        check_shard(args, shard)?;
    }
    folders::prepare(&args.output)?;
    let manifest = args.sut.as_deref().map(manifest).transpose()?;
    preflight::check_output_folder(&args.output)?;
    preflight::temporary_files()?;
    let jobs = preflight::limit_jobs(args.jobs.unwrap_or_else(|| default_jobs(args)))?;
    let seed = args.seed.unwrap_or_else(random_seed);
    let explorer = |defect, manifest, tries| Explorer {
        session: Arc::new(session(args, defect, manifest, jobs)),
        focuses: focuses(args, defect),
        seed,
        shard: args.part.shard,
        jobs,
        is_simulated: is_simulated(args),
        limits: ShrinkLimits {
            max: tries,
            concurrency: jobs,
            deadline: None,
        },
        output: (!args.defects).then(|| args.output.clone()),
    };
    if args.defects {
        eprintln!("exploring from seed {seed}");
        // Findings are not minimized, because only the time until the first finding counts.
        return defects::run(args.budget.unwrap_or(BUDGET), |defect| explorer(defect, None, 0));
    }
    let explorer = Arc::new(explorer(args.defect, manifest, args.tries));
    let runtime = runtime()?;
    let exit = runtime.block_on(explore(&explorer, args));
    // Stops the tokio runtime without waiting for its tasks, because a run of a generated cluster may never end.
    runtime.shutdown_background();
    Ok(exit)
}

/// The selected focus (set of running programs), otherwise the focuses in which the role of the defect runs; empty for all focuses.
fn focuses(args: &ExploreArgs, defect: Option<Defect>) -> Vec<&'static Focus> {
    let broken = defect.and_then(Defect::role);
    match (args.role, broken) {
        (Some(wanted), _) => vec![wanted],
        (None, Some(role)) => FOCUSES.iter().filter(|focus| focus.has(role)).collect(),
        (None, None) => Vec::new(),
    }
}

/// Whether time is simulated. Programs of a manifest need real time.
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

/// A random seed of at most nine digits, which is easy to copy.
fn random_seed() -> u64 {
    let now = jiff::Timestamp::now().as_nanosecond();
    u64::try_from(now.unsigned_abs() % 1_000_000_000).unwrap_or_default()
}

fn session(args: &ExploreArgs, defect: Option<Defect>, manifest: Option<Manifest>, jobs: usize) -> Session {
    let mut systems = built_in(defect);
    if let Some(manifest) = &manifest {
        manifest.install(&mut systems);
    }
    let options = options(args.patience, manifest.as_ref(), defect);
    Session::new(systems, options, manifest, jobs, format!("{} repro", program()))
}

/// Checks that a shard has a number of clusters and a seed, so that all shards belong to the same run.
fn check_shard(args: &ExploreArgs, shard: Shard) -> Result<(), Exit> {
    if args.seed.is_none() {
        eprintln!("error: --shard requires --seed: all shards must generate the same clusters");
        return Err(Exit::Usage);
    }
    if args.worlds.is_some_and(|worlds| worlds < shard.part() as u64) {
        return Err(parts::print_empty_shard(shard));
    }
    Ok(())
}

async fn explore(explorer: &Arc<Explorer>, args: &ExploreArgs) -> Exit {
    let (began, started) = (Instant::now(), now());
    let until = match args.worlds {
        Some(worlds) => Until::Clusters(worlds),
        None => Until::Instant(began + args.budget.unwrap_or(BUDGET)),
    };
    eprintln!("exploring from seed {}", explorer.seed);
    let bar = show::progress();
    let mut exploration = Exploration::default();
    let mut progress_log = ProgressLog::begin();
    let mut reported = 0;
    let mut report_progress = |exploration: &Exploration| {
        // New findings are printed immediately, because an exploration may take hours.
        for finding in &exploration.findings[reported..] {
            bar.suspend(|| eprintln!("found: {} (seed {})", finding.signature, finding.seed));
        }
        reported = exploration.findings.len();
        let line = || show::progress_line(exploration, began.elapsed());
        bar.set_message(line());
        progress_log.log(line);
    };
    let explored = tokio::select! {
        explored = explorer.explore(until, &mut exploration, &mut report_progress) => Some(explored),
        () = interrupted() => None,
    };
    let is_interrupted = explored.is_none();
    let seconds = began.elapsed().as_secs_f64();
    bar.finish_and_clear();
    if let Some(Err(error)) = explored {
        return Exit::Environment.with_error(error);
    }
    let explored = Explored::new(programs(explorer, args), explorer.seed, exploration);
    show::summarize(&explored, seconds, is_interrupted);
    let mut limits = Vec::new();
    limits.extend(args.part.shard.map(|shard| format!("shard {shard}")));
    limits.extend(is_interrupted.then(|| "interrupted".to_owned()));
    let ended = ExplorationEnd {
        started,
        seconds,
        limits,
    };
    if let Err(error) = show::write_reports(&explored, &ended, &args.output) {
        return Exit::Environment.with_error(error);
    }
    let exit = exit(&explored, is_interrupted);
    match args.part.shard.filter(|_| !is_interrupted) {
        Some(shard) => parts::write_part(shard_file(args, shard, explored, &ended), &args.output, exit),
        None => exit,
    }
}

/// Start and duration of an exploration, and the reasons that its result is incomplete.
struct ExplorationEnd {
    started: String,
    seconds: f64,
    limits: Vec<String>,
}

fn programs(explorer: &Explorer, args: &ExploreArgs) -> Programs {
    let session = &explorer.session;
    let manifest = session.manifest.as_ref();
    Programs {
        system: SystemRecord {
            // Generated clusters do not verify particular features.
            features: Vec::new(),
            ..manifest.map_or_else(|| e2e::record(args.defect), manifest::record)
        },
        settings: SettingsRecord::new(&session.options, session.attempts, IN_MEMORY.to_owned()),
        options: show::options(args),
        is_simulated: is_simulated(args),
    }
}

/// The results of a shard, for `report merge`.
fn shard_file(
    args: &ExploreArgs,
    shard: Shard,
    explored: Explored,
    ended: &ExplorationEnd,
) -> ShardFile<CommandResult> {
    let number = |name: &str, number: Option<u64>| number.map(|number| format!("--{name}={number}"));
    let given = [
        Some(format!("explore{}", explored.programs.options)),
        number("seed", Some(explored.seed)),
        number("worlds", args.worlds),
        number("budget", args.budget.map(|budget| budget.as_secs())),
        number("tries", u64::try_from(args.tries).ok()),
        args.role.map(|focus| format!("--role={focus}")),
        args.real_time.then(|| "--real-time".to_owned()),
        Some(format!("--patience={}", args.patience)),
    ];
    ShardFile::new(
        given.into_iter().flatten().collect(),
        ShardsRecord::of(shard, [], args.part.run_id.clone()),
        ended.started.clone(),
        ended.seconds,
        CommandResult::Explored(Box::new(explored)),
    )
}

fn exit(explored: &Explored, is_interrupted: bool) -> Exit {
    if !explored.findings.is_empty() {
        return Exit::Failed;
    }
    if is_interrupted {
        return Exit::Interrupted;
    }
    if !explored.broken.is_empty() {
        return Exit::Environment;
    }
    match (explored.clusters, explored.undecided.is_empty()) {
        (0, _) => Exit::NoCases,
        (_, false) => Exit::Inconclusive,
        (_, true) => Exit::Passed,
    }
}
