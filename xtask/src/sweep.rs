//! `sweep`: a case again and again, each time with one fault at another point. Thin: prints what `suites::sweep` finds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use suites::harness::RunOptions;
use suites::harness::invocation::program;
use suites::harness::manifest::Manifest;
use suites::harness::report::Paint;
use suites::harness::scenario::{self, Role, Scenario};
use suites::report::write_file;
use suites::sweep::{Cell, FAULTS, Held, Sweep, SweepError, page};

use crate::args::{SelectArgs, at_least_one, patience};
use crate::chosen::Chosen;
use crate::defect::Defect;
use crate::interrupt::interrupted;
use crate::out::{self, eprintln, println};
use crate::runner::options;
use crate::runtime::runtime;
use crate::selected::selected;
use crate::{Exit, mutants, preflight};

/// Arguments of `sweep`.
#[derive(Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    select: SelectArgs,
    /// Sweep the programs of that manifest, in real time, instead of the references in simulated time
    #[arg(long, value_name = "FILE")]
    sut: Option<PathBuf>,
    /// Break one of the references on purpose
    #[arg(long, value_parser = Defect::named, conflicts_with = "sut")]
    defect: Option<Defect>,
    /// Run that cell alone, as a failure names it
    #[arg(long, value_name = "NAME")]
    cell: Option<String>,
    /// Runs at the same time [default: 1 per processor, and 4 with --sut]
    #[arg(long, value_parser = at_least_one)]
    jobs: Option<usize>,
    /// Multiply every bound, for slow machines
    #[arg(long, default_value_t = 1.0, value_parser = patience)]
    patience: f64,
    /// Write the grid of each case as a page into that folder, with the case file of each cell that failed
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Sweeps the selected cases.
pub(crate) fn run(args: &SweepArgs) -> Exit {
    attempt(args).unwrap_or_else(|exit| exit)
}

fn attempt(args: &SweepArgs) -> Result<Exit, Exit> {
    mutants::at_hand(args.defect)?;
    let chosen = match &args.sut {
        Some(path) => Chosen::of_manifest(path)?,
        None => Chosen::built_in(args.defect),
    };
    let scenarios = scenarios(args)?;
    args.output.as_deref().map(preflight::output).transpose()?;
    preflight::temporary_files()?;
    let per_core = if args.sut.is_some() { 4 } else { 1 };
    let cores = std::thread::available_parallelism().map_or(4, usize::from);
    let jobs = preflight::jobs(args.jobs.unwrap_or(cores * per_core))?;
    let roles = roles(chosen.manifest.as_ref());
    let swept = std::cell::Cell::new(0);
    Ok(runtime()?.block_on(async {
        tokio::select! {
            exit = all(args, &scenarios, &chosen, jobs, &roles, &swept) => exit,
            () = interrupted() => {
                let (swept, all) = (swept.get(), scenarios.len());
                eprintln!("interrupted: {swept} of {all} cases were swept and are told above; nothing is said about the others");
                Exit::Interrupted
            }
        }
    }))
}

/// The cases that are meant, as they are written.
fn scenarios(args: &SweepArgs) -> Result<Vec<Scenario>, Exit> {
    let mut scenarios = Vec::new();
    for plan in selected(&args.select)? {
        let rows = scenario::load_row(&args.select.files(), plan.id()).map_err(|error| {
            eprintln!("error: {error}");
            Exit::Usage
        })?;
        scenarios.extend(rows);
    }
    if args.cell.is_some() && scenarios.len() != 1 {
        eprintln!("error: --cell is a cell of one case; name that case");
        return Err(Exit::Usage);
    }
    Ok(scenarios)
}

/// Whose requests and calls are points: those of the programs under test.
fn roles(manifest: Option<&Manifest>) -> Vec<Role> {
    match manifest {
        Some(manifest) => manifest.roles().collect(),
        None => vec![Role::Publisher, Role::Scheduler, Role::Cleaner],
    }
}

/// Sweeps one case after the other, and counts those that were.
async fn all(
    args: &SweepArgs,
    scenarios: &[Scenario],
    chosen: &Chosen,
    jobs: usize,
    roles: &[Role],
    swept: &std::cell::Cell<usize>,
) -> Exit {
    let mut worst = Exit::Nothing;
    for scenario in scenarios {
        let exit = one(args, scenario, chosen, jobs, roles).await;
        swept.set(swept.get() + 1);
        worst = match (worst, exit) {
            (Exit::Nothing | Exit::Passed, exit) => exit,
            (worst, Exit::Passed) => worst,
            (_, Exit::Failed) | (Exit::Failed, _) => Exit::Failed,
            (worst, _) => worst,
        };
    }
    worst
}

async fn one(args: &SweepArgs, scenario: &Scenario, chosen: &Chosen, jobs: usize, roles: &[Role]) -> Exit {
    let began = Instant::now();
    let sweep = Sweep {
        systems: chosen.systems.clone(),
        options: RunOptions {
            seed: args.sut.is_none().then_some(0),
            ..options(args.patience, chosen.manifest.as_ref(), chosen.defect)
        },
        jobs,
        rerun: format!(
            "{program} {}",
            out::command(&command(args, scenario)),
            program = program()
        ),
        manifest: chosen.manifest.clone(),
    };
    let mut cells = match sweep.cells(scenario, roles).await {
        Ok(cells) => cells,
        Err(error) => return refused(scenario, &error),
    };
    if let Some(name) = &args.cell {
        cells.retain(|cell| cell.name() == *name);
    }
    if cells.is_empty() {
        eprintln!("error: {} has no such cell", scenario.id);
        return Exit::Nothing;
    }
    let bar = out::progress(cells.len(), "{bar:30} {pos}/{len} cells");
    let ended = sweep.run(cells, |_, _| bar.inc(1)).await;
    bar.finish_and_clear();
    tell(scenario, &ended, began.elapsed().as_secs_f64());
    match args.output.as_ref().map(|folder| keep(folder, scenario, &ended)) {
        Some(Err(exit)) => exit,
        _ => exit_of(&ended),
    }
}

/// A case of which the specification says nothing is none that can be swept, nor one that the manifest leaves out; that is no failure.
fn refused(scenario: &Scenario, error: &SweepError) -> Exit {
    match error {
        SweepError::Case(_) | SweepError::Known(_) | SweepError::Skipped(_) => {
            println!("skip  {}: {error}", scenario.id);
            Exit::Passed
        }
        SweepError::Start(_) => {
            eprintln!("error: {}: {error}", scenario.id);
            Exit::Environment
        }
        SweepError::Fails { .. } => {
            eprintln!("error: {error}");
            Exit::Failed
        }
    }
}

fn command(args: &SweepArgs, scenario: &Scenario) -> Vec<String> {
    let mut words = vec!["sweep".to_owned()];
    words.extend(args.sut.as_ref().map(|sut| format!("--sut={}", sut.display())));
    words.extend(args.defect.map(|defect| format!("--defect={defect}")));
    let mut words = args.select.command(words);
    words.push(scenario.id.clone());
    words
}

/// The grid, with a row for points that are alike, and then each failure in other words once.
fn tell(scenario: &Scenario, ended: &[(Cell, Held)], seconds: f64) {
    let paint = Paint::of(&std::io::stdout());
    let count = |wanted: fn(&Held) -> bool| ended.iter().filter(|(_, held)| wanted(held)).count();
    println!(
        "{}  {} cells, {} hold, {} fail, {} are known to fail, {} were not met  {seconds:.1}s",
        paint.strong(&scenario.id),
        ended.len(),
        count(|held| matches!(held, Held::Held)),
        count(|held| matches!(held, Held::Failed { .. })),
        count(|held| matches!(held, Held::Known(_))),
        count(|held| matches!(held, Held::Unmet)),
    );
    let mut rows: BTreeMap<String, BTreeMap<&str, (usize, usize)>> = BTreeMap::new();
    for (cell, held) in ended {
        let row = rows.entry(cell.point.like()).or_default();
        let (fine, all) = row.entry(cell.fault.name).or_default();
        *all += 1;
        *fine += usize::from(matches!(held, Held::Held | Held::Known(_) | Held::Unmet));
    }
    let width = rows.keys().map(String::len).max().unwrap_or(0);
    for (like, row) in &rows {
        let in_order = FAULTS
            .iter()
            .filter_map(|fault| Some((fault.name, row.get(fault.name)?)));
        let told: Vec<String> = in_order
            .map(|(name, (fine, all))| {
                let text = format!("{name} {fine}/{all}");
                if fine == all { text } else { paint.bad(&text) }
            })
            .collect();
        println!("  {like:<width$}  {}", told.join("  "));
    }
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for (cell, held) in ended {
        match held {
            Held::Failed { said, text } => {
                let times = told.entry(said).or_default();
                *times += 1;
                if *times == 1 {
                    println!("\n{text}");
                }
                println!("{}  {}  {said}", paint.bad("FAIL"), cell.name());
            }
            Held::Known(place) => println!("known  {}  {place}", cell.name()),
            Held::Broken(why) => println!("{}  {}  {why}", paint.bad("ERROR"), cell.name()),
            _ => {}
        }
    }
}

fn keep(folder: &std::path::Path, scenario: &Scenario, ended: &[(Cell, Held)]) -> Result<(), Exit> {
    let name = scenario.id.replace('/', ".");
    let mut files = vec![(format!("{name}.html"), page(&scenario.id, ended))];
    let failed = ended
        .iter()
        .filter(|(_, held)| matches!(held, Held::Failed { .. }));
    files.extend(failed.map(|(cell, _)| (format!("{name}.{}.yaml", cell.name()), cell.text.clone())));
    for (file, text) in files {
        write_file(folder, &file, &text).map_err(|error| {
            eprintln!("error: {error}");
            Exit::Environment
        })?;
    }
    Ok(())
}

fn exit_of(ended: &[(Cell, Held)]) -> Exit {
    let has = |wanted: fn(&Held) -> bool| ended.iter().any(|(_, held)| wanted(held));
    match () {
        () if has(|held| matches!(held, Held::Failed { .. })) => Exit::Failed,
        () if has(|held| matches!(held, Held::Broken(_))) => Exit::Environment,
        () if has(|held| matches!(held, Held::Undecided)) => Exit::Inconclusive,
        () => Exit::Passed,
    }
}
