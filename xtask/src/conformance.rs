//! `conformance`: the cases against programs that a manifest names.

use std::num::NonZero;
use std::path::PathBuf;

use anstream::eprintln;
use clap::Args;
use suites::harness::manifest::{Manifest, ManifestError};
use suites::report::SystemRecord;

use crate::Exit;
use crate::built_in::built_in;
use crate::command::{RunArgs, SelectArgs};
use crate::drive::{Drive, drive};

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
    /// Cases at the same time
    #[arg(long, default_value_t = default_jobs())]
    jobs: usize,
}

/// Processes of somebody else have work to do at their start, unlike our own.
fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(8, |cores: NonZero<usize>| cores.get() * 4)
}

/// Runs the selected cases.
pub(crate) fn run(args: &ConformanceArgs) -> Exit {
    let manifest = match Manifest::load(&args.sut) {
        Ok(manifest) => manifest,
        Err(error) => {
            eprintln!("error: {error}");
            return match error {
                ManifestError::Program { .. } => Exit::Environment,
                ManifestError::File(_) | ManifestError::Unreadable { .. } => Exit::Usage,
            };
        }
    };
    let mut systems = built_in(None);
    manifest.install(&mut systems);
    drive(Drive {
        select: &args.select,
        run: &args.run,
        jobs: args.jobs,
        systems,
        defect: None,
        record: SystemRecord {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            roles: manifest.roles().map(|role| role.as_str().to_owned()).collect(),
            features: manifest.features.clone(),
        },
        manifest: Some(manifest),
        command: vec!["conformance".to_owned(), format!("--sut={}", args.sut.display())],
    })
}
