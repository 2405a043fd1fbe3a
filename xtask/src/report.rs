//! `report`: merges, renders and describes stored reports. Runs no cases.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use suites::PART;
use suites::report::{self, RECORD, Report};

use crate::out::{eprintln, print};
use crate::summary::summarize;
use crate::verdicts::exit_of_record;
use crate::{Exit, github, merge_parts};

/// Subcommands of `report`.
#[derive(Subcommand)]
pub(crate) enum ReportCommand {
    /// Merge the reports of shards; exits with the code of the whole run, or with 6 if shards are missing
    Merge {
        /// report.json of each shard, or the part.json files of `explore`, `sweep` and `selftest`
        #[arg(required_unless_present = "parts", value_name = "FILE")]
        records: Vec<PathBuf>,
        /// Folder with one subfolder per shard report
        #[arg(long, value_name = "FOLDER", conflicts_with = "records")]
        parts: Option<PathBuf>,
        /// Write the report, and the runs stored by the shards, into this folder
        #[arg(long, value_name = "FOLDER")]
        output: PathBuf,
    },
    /// Render all report formats again from a report.json
    Render {
        /// Path of the report.json
        #[arg(value_name = "FILE")]
        record: PathBuf,
        /// Write the report into this folder [default: beside the report.json]
        #[arg(long, value_name = "FOLDER")]
        output: Option<PathBuf>,
    },
    /// Print the JSON Schema of report.json
    Schema,
}

pub(crate) fn run(command: &ReportCommand) -> Exit {
    match command {
        ReportCommand::Merge {
            records,
            parts,
            output,
        } => match parts {
            None => merge(records, output),
            Some(folder) => match records_in(folder, output) {
                Ok(records) => merge(&records, output),
                Err(error) => {
                    eprintln!(
                        "error: {}: {error}; name the folder that the parts were written into",
                        folder.display()
                    );
                    Exit::Usage
                }
            },
        },
        ReportCommand::Render { record, output } => render(record, output.as_deref()),
        ReportCommand::Schema => {
            print!("{}", report::schema());
            Exit::Passed
        }
    }
}

/// The report.json or part.json files in the subfolders, sorted by path, except for the merged report itself.
fn records_in(folder: &Path, output: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut records = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let part = entry?.path();
        let written = [PART, RECORD].map(|name| part.join(name));
        if part != output {
            records.extend(written.into_iter().find(|file| file.is_file()));
        }
    }
    records.sort();
    Ok(records)
}

fn merge(records: &[PathBuf], output: &Path) -> Exit {
    // `explore`, `sweep` and `selftest` write part.json files, which have another format.
    if records.iter().any(|record| record.ends_with(PART)) {
        return merge_parts::merge(records, output);
    }
    match report::merge(records) {
        Ok(merged) => {
            summarize(&merged, false);
            match write(&merged, output) {
                Exit::Passed => {
                    github::summarize(&merged);
                    exit_of_shards(&merged)
                }
                exit => exit,
            }
        }
        Err(error) => Exit::Usage.with_error(error),
    }
}

/// The exit code of the merged run. If shards are missing, the code is never that of a passed run.
fn exit_of_shards(merged: &Report) -> Exit {
    let exit = exit_of_record(merged);
    let Some(shards) = &merged.shards else {
        return exit;
    };
    let missing: Vec<String> = shards
        .missing()
        .map(|part| format!("{part}/{}", shards.of))
        .collect();
    eprintln!(
        "error: missing shards: {}; name the report.json of every shard",
        missing.join(", ")
    );
    match exit {
        Exit::Failed | Exit::Environment => exit,
        _ => Exit::Incomplete,
    }
}

fn render(record: &Path, output: Option<&Path>) -> Exit {
    let beside = record.parent().filter(|folder| *folder != Path::new(""));
    let output = output.or(beside).unwrap_or(Path::new("."));
    match Report::load(record) {
        Ok(report) => write(&report, output),
        Err(error) => Exit::Usage.with_error(error),
    }
}

fn write(report: &Report, folder: &Path) -> Exit {
    match report::write_all(report, folder) {
        Ok(()) => {
            eprintln!("reports are in {}", folder.display());
            Exit::Passed
        }
        Err(error) => Exit::Environment.with_error(error),
    }
}
