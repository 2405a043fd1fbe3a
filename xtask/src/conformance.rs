//! `conformance`: the cases against programs that a manifest names.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::Args;
use suites::harness::manifest::{Manifest, ManifestError};
use suites::report::SystemRecord;

use crate::Exit;
use crate::built_in::built_in;
use crate::command::{RunArgs, SelectArgs, at_least_one};
use crate::drive::{Cases, Drive, drive};
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

/// Runs the selected cases.
pub(crate) fn run(args: &ConformanceArgs) -> Exit {
    let manifest = match manifest(&args.sut) {
        Ok(manifest) => manifest,
        Err(exit) => return exit,
    };
    let mut systems = built_in(None);
    manifest.install(&mut systems);
    drive(Drive {
        cases: Cases::Selected(&args.select),
        run: &args.run,
        jobs: args.jobs.unwrap_or_else(|| default_jobs(&args.run)),
        systems,
        defect: None,
        record: record(&manifest),
        manifest: Some(manifest),
        command: args
            .select
            .command(["conformance".to_owned(), format!("--sut={}", args.sut.display())]),
    })
}
