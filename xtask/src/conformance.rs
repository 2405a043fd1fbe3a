//! `conformance`: the cases against programs that a manifest names, judged, measured, or taken as they are.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use suites::harness::manifest::{Manifest, ManifestError};
use suites::harness::plan::Plan;
use suites::harness::scenario::ScenarioError;
use suites::report::SystemRecord;
use suites::{Session, Turns, cases_folder, check_known, plans};

use crate::Exit;
use crate::accept::Accept;
use crate::built_in::built_in;
use crate::command::{RunArgs, SelectArgs, at_least_one};
use crate::drive::{Cases, Drive, drive, options};
use crate::inspect::selected;
use crate::measure::measure;
use crate::out::eprintln;

/// Arguments of `conformance`.
#[derive(Args)]
pub(crate) struct ConformanceArgs {
    /// The manifest of the programs to test
    #[arg(long, value_name = "FILE")]
    sut: PathBuf,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    run: RunArgs,
    /// Write what fails as entries for `knownFailures`, into FILE or beside the manifest: the way into a gate for a program that fails today
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with = "shard")]
    accept: Option<Option<PathBuf>>,
    /// Run each case so many times, and say how often it fails with which words; --output keeps the runs that failed
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(2..=10_000),
          conflicts_with_all = ["accept", "attempts", "shard", "apiserver"])]
    measure: Option<u32>,
    /// Cases at the same time [default: 4 per processor, and 2 with --apiserver; fewer where too few files may be open]
    #[arg(long, value_parser = at_least_one)]
    jobs: Option<usize>,
}

/// Processes of somebody else have work to do at their start, unlike our own.
fn default_jobs(run: &RunArgs) -> usize {
    let per_core = if run.apiserver.is_some() { 2 } else { 4 };
    std::thread::available_parallelism().map_or(8, |cores: NonZero<usize>| cores.get() * per_core)
}

/// Reads a manifest; the error is told already.
pub(crate) fn manifest(path: &Path) -> Result<Manifest, Exit> {
    Manifest::load(path).map_err(|error| {
        eprintln!("error: {error}");
        match error {
            ManifestError::Program { .. } => Exit::Environment,
            ManifestError::File(_) | ManifestError::Unreadable { .. } => Exit::Usage,
        }
    })
}

/// What reports say of the programs of a manifest.
pub(crate) fn record(manifest: &Manifest) -> SystemRecord {
    SystemRecord {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        roles: manifest.roles().map(|role| role.as_str().to_owned()).collect(),
        features: manifest.features.clone(),
    }
}

/// Reads a manifest that is held against all cases of a folder; the error is told already.
pub(crate) fn manifest_for(path: &Path, folder: &Path) -> Result<Manifest, Exit> {
    let manifest = manifest(path)?;
    let checked = catalogue(folder).and_then(|plans| check_known(&manifest, &plans));
    checked.map_err(|error| {
        eprintln!("error: {error}");
        Exit::Usage
    })?;
    Ok(manifest)
}

/// The cases that an entry may name: a manifest may serve for cases of its owner's beside those of this repository.
fn catalogue(folder: &Path) -> Result<Vec<Plan>, ScenarioError> {
    let mut all = plans(folder)?;
    let own = cases_folder();
    if folder != own {
        all.extend(plans(&own)?);
    }
    Ok(all)
}

/// Runs the selected cases.
pub(crate) fn run(args: &ConformanceArgs) -> Exit {
    attempt(args).unwrap_or_else(|exit| exit)
}

fn attempt(args: &ConformanceArgs) -> Result<Exit, Exit> {
    let manifest = manifest_for(&args.sut, &args.select.folder)?;
    let accept = args.accept.as_ref();
    let accept = accept
        .map(|file| Accept::into(file.as_deref(), &args.sut, &manifest))
        .transpose()?;
    let mut systems = built_in(None);
    manifest.install(&mut systems);
    let jobs = args.jobs.unwrap_or_else(|| default_jobs(&args.run));
    let command = ["conformance".to_owned(), format!("--sut={}", args.sut.display())];
    let command = args.select.command(command);
    if let Some(times) = args.measure {
        let version = manifest.version.clone();
        let session = Session {
            systems,
            options: options(args.run.patience, Some(&manifest), None),
            manifest: Some(manifest),
            turns: Arc::new(Turns::of(jobs)),
            attempts: 1,
            keep: args.run.output.clone(),
            keep_passed: args.run.keep_passed,
            rerun: format!("cargo xtask {}", command.join(" ")),
        };
        return Ok(measure(&session, selected(&args.select)?, times, &version));
    }
    Ok(drive(Drive {
        cases: Cases::Selected(&args.select),
        run: &args.run,
        jobs,
        systems,
        defect: None,
        record: record(&manifest),
        manifest: Some(manifest),
        accept,
        command,
    }))
}
