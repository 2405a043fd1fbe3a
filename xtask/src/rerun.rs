//! `rerun`: runs the cases that did not pass in a recorded run, with the options of that run.
//!
//! Reads only the report.json of that run. The resulting command is parsed like user input.

use std::path::{Path, PathBuf};

use clap::Args;
use suites::harness::invocation::program;
use suites::report::{RECORD, Report};

use crate::Exit;
use crate::out::eprintln;
use crate::run_folder::last_record;

/// Arguments of `rerun`.
#[derive(Args)]
pub(crate) struct RerunArgs {
    /// report.json of a run, or the folder that contains it [default: the last run without --output]
    record: Option<PathBuf>,
    /// Print one line per case instead of one line per area
    #[arg(short, long)]
    verbose: bool,
    /// Write the reports, and the runs of cases that did not pass, into this folder
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// The words of the command that runs the cases that did not pass or, after an interrupt, did not run. Prints its own errors.
pub(crate) fn rerun_arguments(args: &RerunArgs) -> Result<Vec<String>, Exit> {
    let path = match &args.record {
        Some(path) => Some(record_path(path)),
        None => last_record()?,
    };
    let Some(path) = path else {
        eprintln!(
            "error: nothing was run without --output yet; run `{program} e2e`, or name the report.json of a run",
            program = program()
        );
        return Err(Exit::Usage);
    };
    let report = Report::load(&path).map_err(|error| Exit::Usage.with_error(error))?;
    let open = report.cases.iter().filter(|case| case.needs_attention());
    let open: Vec<String> = open
        .map(|case| case.id.clone())
        .chain(report.unfinished.clone())
        .collect();
    if open.is_empty() {
        eprintln!(
            "error: {} has no case to rerun: {}",
            path.display(),
            report.counts_in_words()
        );
        return Err(Exit::NoCases);
    }
    let words = command(args, &report, open);
    eprintln!("{program} {}", words.join(" "), program = program());
    Ok(words)
}

fn command(args: &RerunArgs, report: &Report, open: Vec<String>) -> Vec<String> {
    let mut words = report.command.clone();
    let settings = &report.settings;
    words.push(format!("--patience={}", settings.patience));
    words.push(format!("--attempts={}", settings.attempts));
    words.extend(args.verbose.then(|| "--verbose".to_owned()));
    words.extend(
        args.output
            .as_ref()
            .map(|folder| format!("--output={}", folder.display())),
    );
    words.extend(open);
    words
}

fn record_path(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(RECORD)
    } else {
        path.to_owned()
    }
}
