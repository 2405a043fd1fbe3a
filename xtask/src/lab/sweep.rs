//! `sweep`: runs a case many times, each time with one fault at another point (request, watch event or CSI call). Only prints results;
//! `labs::sweep` runs the cases.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use labs::CommandResult;
use labs::sweep::{Cell, CellRecord, CellResult, FAULTS, Sweep, SweepOutcome, SweptCase, page};
use suites::harness::RunOptions;
use suites::harness::invocation::program;
use suites::harness::manifest::Manifest;
use suites::harness::report::Paint;
use suites::harness::scenario::{self, Role, Scenario};
use suites::report::{ShardsRecord, now, rounded_seconds, write_file};
use suites::{Shard, ShardFile};

use crate::args::{PartArgs, SelectArgs, at_least_one, patience};
use crate::interrupt::interrupted;
use crate::out::{self, eprintln, println};
use crate::repro_args::SystemsUnderTest;
use crate::runner::options;
use crate::runtime::runtime;
use crate::selected::selected;
use crate::{Exit, mutants, parts, preflight};
use references::Defect;

/// Arguments of `sweep`.
#[derive(Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    select: SelectArgs,
    /// Sweep the programs of this manifest in real time, instead of the references in simulated time
    #[arg(long, value_name = "FILE")]
    sut: Option<PathBuf>,
    /// Inject a defect into a reference implementation
    #[arg(long, value_parser = Defect::named, conflicts_with = "sut")]
    defect: Option<Defect>,
    /// Run only this cell (a fault at one point of the case), as printed with a failure
    #[arg(long, value_name = "NAME")]
    cell: Option<String>,
    /// Runs to execute concurrently [default: 1 per CPU, 4 with --sut]
    #[arg(long, value_parser = at_least_one)]
    jobs: Option<usize>,
    /// Scale all timeouts by this factor, for slow machines
    #[arg(long, default_value_t = 1.0, value_parser = patience)]
    patience: f64,
    /// Write an HTML page with the grid of each case, and the case file of each failed cell, into this folder
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    part: PartArgs,
}

/// A case with its number in the whole run.
type NumberedScenario = (usize, Scenario);

/// The cases to sweep, and the options of the sweep.
struct Plan<'a> {
    args: &'a SweepArgs,
    /// The cases in the shard of this machine.
    scenarios: Vec<NumberedScenario>,
    under_test: SystemsUnderTest,
    jobs: usize,
    roles: Vec<Role>,
}

/// The results so far of a running sweep, for output after an interrupt.
#[derive(Default)]
struct Progress {
    swept: Vec<SweptCase>,
    current: Option<CurrentCase>,
}

/// The case that is being swept (run once per fault), with its completed cells.
struct CurrentCase {
    id: String,
    began: Instant,
    /// Number of cells of the case; `None` during the first run, which is without a fault and determines the cells.
    all: Option<usize>,
    ended: Vec<CellRecord>,
}

pub(crate) fn run(args: &SweepArgs) -> Result<Exit, Exit> {
    mutants::ensure_available(args.defect)?;
    let under_test = SystemsUnderTest::new(args.sut.as_deref(), args.defect)?;
    let output = super::output_for_shard(&args.part, args.output.as_deref())?;
    let (shards, scenarios) = scenarios(args)?;
    output.map(preflight::check_output_folder).transpose()?;
    preflight::temporary_files()?;
    let per_core = if args.sut.is_some() { 4 } else { 1 };
    let cores = std::thread::available_parallelism().map_or(4, usize::from);
    let jobs = preflight::limit_jobs(args.jobs.unwrap_or(cores * per_core))?;
    let plan = Plan {
        args,
        scenarios,
        roles: roles(under_test.manifest.as_ref()),
        under_test,
        jobs,
    };
    let (began, started) = (Instant::now(), now());
    let mut progress = Progress::default();
    let exit = runtime()?.block_on(async {
        tokio::select! {
            exit = sweep_cases(&plan, &mut progress) => exit,
            () = interrupted() => Exit::Interrupted,
        }
    });
    if exit == Exit::Interrupted {
        progress.print(plan.scenarios.len());
        return Ok(exit);
    }
    let swept = progress.swept;
    Ok(match shards.zip(output) {
        Some((shards, folder)) => {
            let seconds = began.elapsed().as_secs_f64();
            let part = ShardFile::new(
                whole_command(args),
                shards,
                started,
                seconds,
                CommandResult::Swept(swept),
            );
            parts::write_part(part, folder, exit)
        }
        None => exit,
    })
}

/// The cases of this machine's shard, each with its number in the whole run; and the shard, if any.
fn scenarios(args: &SweepArgs) -> Result<(Option<ShardsRecord>, Vec<NumberedScenario>), Exit> {
    let plans = selected(&args.select)?;
    let shard = args.part.shard;
    let shards = shard.map(|shard| ShardsRecord::new(shard, &plans, args.part.run_id.clone()));
    let mut scenarios = Vec::new();
    let has = |number: &usize| shard.is_none_or(|shard: Shard| shard.has(*number));
    for (number, plan) in plans.iter().enumerate().filter(|(number, _)| has(number)) {
        let rows = scenario::load_case(&args.select.files(), plan.id())
            .map_err(|error| Exit::Usage.with_error(error))?;
        scenarios.extend(rows.into_iter().map(|row| (number, row)));
    }
    if args.cell.is_some() && plans.len() != 1 {
        eprintln!("error: --cell selects a cell of a single case; name the id of that case");
        return Err(Exit::Usage);
    }
    match shard.filter(|_| scenarios.is_empty()) {
        Some(shard) => Err(parts::print_empty_shard(shard)),
        None => Ok((shards, scenarios)),
    }
}

/// The roles of the systems under test. Faults are injected into their requests, watch events and calls.
fn roles(manifest: Option<&Manifest>) -> Vec<Role> {
    match manifest {
        Some(manifest) => manifest.roles().collect(),
        None => vec![Role::Publisher, Role::Scheduler, Role::Cleaner],
    }
}

/// Sweeps the cases one by one, prints each result, and adds it to `progress`.
async fn sweep_cases(plan: &Plan<'_>, progress: &mut Progress) -> Exit {
    let mut worst = Exit::NoCases;
    for (number, scenario) in &plan.scenarios {
        let began = Instant::now();
        let current = progress.current.insert(CurrentCase {
            id: scenario.id.clone(),
            began,
            all: None,
            ended: Vec::new(),
        });
        let outcome = sweep_case(plan, scenario, current).await;
        progress.current = None;
        let case = SweptCase {
            number: *number,
            id: scenario.id.clone(),
            seconds: rounded_seconds(began.elapsed()),
            outcome,
        };
        worst = worst_exit(worst, print_and_write(&case, plan.args.output.as_deref()));
        progress.swept.push(case);
    }
    worst
}

impl Progress {
    /// Prints the results of an interrupted sweep of `all` cases.
    fn print(&self, all: usize) {
        let swept = self.swept.len();
        let current = self.current.as_ref().map(CurrentCase::print);
        eprintln!(
            "interrupted: {swept} of {all} cases were swept, with the results above; {}the other cases have no result",
            current.unwrap_or_default()
        );
    }
}

impl CurrentCase {
    /// Prints the completed cells, and returns their number as text.
    fn print(&self) -> String {
        let id = &self.id;
        let Some(all) = self.all else {
            return format!("{id} was running, and had no results yet; ");
        };
        let ended = self.ended.len();
        if ended > 0 {
            print_grid(id, &self.ended, self.began.elapsed().as_secs_f64());
        }
        format!("{id} was running, with the results of {ended} of {all} cells above; ")
    }
}

/// Prints and writes the results of several shards.
pub(crate) fn print_merged(cases: &[SweptCase], output: &Path) -> Exit {
    let exits = cases.iter().map(|case| print_and_write(case, Some(output)));
    exits.fold(Exit::NoCases, worst_exit)
}

fn worst_exit(worst: Exit, exit: Exit) -> Exit {
    match (worst, exit) {
        (Exit::NoCases | Exit::Passed, exit) => exit,
        (worst, Exit::Passed) => worst,
        (_, Exit::Internal) | (Exit::Internal, _) => Exit::Internal,
        (_, Exit::Failed) | (Exit::Failed, _) => Exit::Failed,
        (worst, _) => worst,
    }
}

async fn sweep_case(plan: &Plan<'_>, scenario: &Scenario, current: &mut CurrentCase) -> SweepOutcome {
    let (args, under_test) = (plan.args, &plan.under_test);
    let sweep = Sweep {
        systems: under_test.systems.clone(),
        options: RunOptions {
            seed: args.sut.is_none().then_some(0),
            ..options(args.patience, under_test.manifest.as_ref(), under_test.defect)
        },
        jobs: plan.jobs,
        rerun: format!(
            "{program} {}",
            out::shell_command(&command(args, scenario)),
            program = program()
        ),
        manifest: under_test.manifest.clone(),
    };
    let mut cells = match sweep.cells(scenario, &plan.roles).await {
        Ok(cells) => cells,
        Err(error) => return error.into(),
    };
    match &args.cell {
        Some(name) => cells.retain(|cell| cell.name() == *name),
        None if cells.is_empty() => {
            return SweepOutcome::LeftOut("no program under test takes part in the case".to_owned());
        }
        None => {}
    }
    let bar = out::progress(cells.len(), "{bar:30} {pos}/{len} cells");
    current.all = Some(cells.len());
    let each = |cell: &Cell, held: &CellResult| {
        bar.inc(1);
        current.ended.push(CellRecord::new(cell, held.clone()));
    };
    let ended = sweep.run(cells, each).await;
    bar.finish_and_clear();
    let ended = ended.into_iter();
    SweepOutcome::Cells(ended.map(|(cell, held)| CellRecord::new(&cell, held)).collect())
}

/// Prints the result of a case, and writes it into the folder. Returns the exit code for this case alone.
fn print_and_write(case: &SweptCase, output: Option<&Path>) -> Exit {
    let id = &case.id;
    match &case.outcome {
        SweepOutcome::LeftOut(why) => {
            println!("skip  {id}: {why}");
            Exit::Passed
        }
        SweepOutcome::Broken(why) => {
            eprintln!("error: {id}: {why}");
            Exit::Environment
        }
        SweepOutcome::Fails(why) => Exit::Failed.with_error(why),
        SweepOutcome::Cells(cells) if cells.is_empty() => {
            eprintln!(
                "error: {id} has no such cell; `sweep {id}` prints the names of failed cells, as POINT-NUMBER-FAULT"
            );
            Exit::Usage
        }
        SweepOutcome::Cells(cells) => {
            print_grid(id, cells, case.seconds);
            match output.map(|folder| write_files(folder, id, cells)) {
                Some(Err(exit)) => exit,
                _ => exit_of(cells),
            }
        }
    }
}

fn command(args: &SweepArgs, scenario: &Scenario) -> Vec<String> {
    let mut words = command_line(args);
    words.push(scenario.id.clone());
    words
}

/// The command that sweeps all selected cases.
fn whole_command(args: &SweepArgs) -> Vec<String> {
    let mut words = command_line(args);
    words.push(format!("--patience={}", args.patience));
    words.extend(args.select.selection().ids);
    words
}

/// The command line of the sweep, without the ids of cases.
fn command_line(args: &SweepArgs) -> Vec<String> {
    let mut words = vec!["sweep".to_owned()];
    words.extend(args.sut.as_ref().map(|sut| format!("--sut={}", sut.display())));
    words.extend(args.defect.map(|defect| format!("--defect={defect}")));
    args.select.with_folder_option(words)
}

/// Prints, per type of point, the faults with the number of cells that did not fail. Then prints each distinct failure once.
fn print_grid(id: &str, cells: &[CellRecord], seconds: f64) {
    let paint = Paint::of(&std::io::stdout());
    let count = |wanted: fn(&CellResult) -> bool| cells.iter().filter(|cell| wanted(&cell.held)).count();
    println!(
        "{}  {} cells, {} hold, {} fail, {} are known to fail, {} did not reach the fault  {seconds:.1}s",
        paint.strong(id),
        cells.len(),
        count(|held| matches!(held, CellResult::Held)),
        count(|held| matches!(held, CellResult::Failed { .. })),
        count(|held| matches!(held, CellResult::Known(_))),
        count(|held| matches!(held, CellResult::Unmet)),
    );
    let mut rows: BTreeMap<&str, BTreeMap<&str, (usize, usize)>> = BTreeMap::new();
    for cell in cells {
        let row = rows.entry(&cell.like).or_default();
        let (fine, all) = row.entry(&cell.fault).or_default();
        *all += 1;
        *fine += usize::from(matches!(
            cell.held,
            CellResult::Held | CellResult::Known(_) | CellResult::Unmet
        ));
    }
    let width = rows.keys().map(|like| like.len()).max().unwrap_or(0);
    for (like, row) in &rows {
        let in_order = FAULTS
            .iter()
            .filter_map(|fault| Some((fault.name, row.get(fault.name)?)));
        let faults: Vec<String> = in_order
            .map(|(name, (fine, all))| {
                let text = format!("{name} {fine}/{all}");
                if fine == all { text } else { paint.bad(&text) }
            })
            .collect();
        println!("  {like:<width$}  {}", faults.join("  "));
    }
    let mut occurrences: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in cells {
        match &cell.held {
            CellResult::Failed { failure_text, text } => {
                let times = occurrences.entry(failure_text).or_default();
                *times += 1;
                if *times == 1 {
                    println!("\n{text}");
                }
                println!("{}  {}  {failure_text}", paint.bad("FAIL"), cell.name);
            }
            CellResult::Known(position) => println!("known  {}  {position}", cell.name),
            CellResult::Broken(why) | CellResult::Internal(why) => {
                println!("{}  {}  {why}", paint.bad("ERROR"), cell.name);
            }
            _ => {}
        }
    }
}

fn write_files(folder: &Path, id: &str, cells: &[CellRecord]) -> Result<(), Exit> {
    let name = id.replace('/', ".");
    let mut files = vec![(format!("{name}.html"), page(id, cells))];
    let failed = cells
        .iter()
        .filter_map(|cell| Some((format!("{name}.{}.yaml", cell.name), cell.text.clone()?)));
    files.extend(failed);
    for (file, text) in files {
        write_file(folder, &file, &text).map_err(|error| Exit::Environment.with_error(error))?;
    }
    Ok(())
}

fn exit_of(cells: &[CellRecord]) -> Exit {
    let has = |wanted: fn(&CellResult) -> bool| cells.iter().any(|cell| wanted(&cell.held));
    match () {
        () if has(|held| matches!(held, CellResult::Internal(_))) => Exit::Internal,
        () if has(|held| matches!(held, CellResult::Failed { .. })) => Exit::Failed,
        () if has(|held| matches!(held, CellResult::Broken(_))) => Exit::Environment,
        () if has(|held| matches!(held, CellResult::Undecided)) => Exit::Inconclusive,
        () => Exit::Passed,
    }
}
