//! `conformance`: runs the cases against the programs of a manifest. Reports the failures, measures failure rates, or writes
//! `knownFailures` entries.

use std::num::NonZero;
use std::path::PathBuf;

use clap::Args;
use suites::Session;
use suites::harness::invocation::program;

use crate::Exit;
use crate::accept::Accept;
use crate::args::{RunArgs, SelectArgs, at_least_one};
use crate::manifest::{manifest_for, record};
use crate::measure::measure;
use crate::runner::{Cases, Run, options, run_cases};
use crate::selected::selected;
use references::built_in;

/// Arguments of `conformance`.
#[derive(Args)]
pub(crate) struct ConformanceArgs {
    /// The manifest of the programs under test
    #[arg(long, value_name = "FILE")]
    sut: PathBuf,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    run: RunArgs,
    /// Write failures as `knownFailures` entries into FILE [default: beside the manifest], so that only new failures fail later runs
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with = "shard")]
    accept: Option<Option<PathBuf>>,
    /// Run each case N times and report the failure rate per message; --output stores the failed runs
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(2..=10_000),
          conflicts_with_all = ["accept", "attempts", "shard", "apiserver"])]
    measure: Option<u32>,
    /// Cases to run concurrently [default: 5 per CPU, 2 with --apiserver; fewer if the open-file limit is low]
    #[arg(long, value_parser = at_least_one)]
    jobs: Option<usize>,
}

/// Default of `--jobs`. Programs under test need CPU time to start, unlike the references, which run in this process.
pub(crate) fn default_jobs(has_real_server: bool) -> usize {
    let per_core = if has_real_server { 2 } else { 5 };
    std::thread::available_parallelism().map_or(10, |cores: NonZero<usize>| cores.get() * per_core)
}

pub(crate) fn run(args: &ConformanceArgs) -> Result<Exit, Exit> {
    let manifest = manifest_for(&args.sut, &args.select.files())?;
    let accept = args.accept.as_ref();
    let accept = accept
        .map(|file| Accept::new(file.as_deref(), &args.sut, &manifest))
        .transpose()?;
    let mut systems = built_in(None);
    manifest.install(&mut systems);
    let jobs = args
        .jobs
        .unwrap_or_else(|| default_jobs(args.run.apiserver.is_some()));
    let command = ["conformance".to_owned(), format!("--sut={}", args.sut.display())];
    let command = args.select.with_folder_option(command);
    if let Some(times) = args.measure {
        let version = manifest.version.clone();
        let options = options(args.run.patience, Some(&manifest), None);
        let rerun = format!("{program} {}", command.join(" "), program = program());
        let session = Session {
            runs_folder: args.run.output.clone(),
            keep_passed: args.run.keep_passed,
            ..Session::new(systems, options, Some(manifest), jobs, rerun)
        };
        return measure(&session, selected(&args.select)?, times, &version);
    }
    run_cases(Run {
        cases: Cases::Selected(&args.select),
        run: &args.run,
        jobs,
        simulate: None,
        systems,
        defect: None,
        record: record(&manifest),
        manifest: Some(manifest),
        accept,
        dialect: None,
        command,
    })
}
