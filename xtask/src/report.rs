//! `report`: what can be done with records of runs that have ended. Runs nothing.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use suites::PART;
use suites::report::{self, RECORD, Report};

use crate::out::{eprintln, print};
use crate::summary::summarize;
use crate::verdicts::exit_of_record;
use crate::{Exit, github, joined};

/// What to do.
#[derive(Subcommand)]
pub(crate) enum ReportCommand {
    /// Join the records of shards into one report; ends as the whole run would have ended, or with 6 while shards are missing
    Merge {
        /// The report.json of each shard, or the part.json that `explore`, `sweep` and `selftest` write
        #[arg(required_unless_present = "parts", value_name = "FILE")]
        records: Vec<PathBuf>,
        /// The folder that has a folder with the report of each shard
        #[arg(long, value_name = "FOLDER", conflicts_with = "records")]
        parts: Option<PathBuf>,
        /// Write the report into that folder, with the runs that the shards have kept
        #[arg(long, value_name = "FOLDER")]
        output: PathBuf,
    },
    /// Make all forms of a report again from its record
    Render {
        /// The report.json
        #[arg(value_name = "FILE")]
        record: PathBuf,
        /// Write the report into that folder; else beside the record
        #[arg(long, value_name = "FOLDER")]
        output: Option<PathBuf>,
    },
    /// Print the JSON Schema of report.json
    Schema,
}

/// Does it.
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

/// What the parts have written, one folder below that one, but for a report of all parts, in the order of their names.
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
    // Of other commands than those that run each case once.
    if records.iter().any(|record| record.ends_with(PART)) {
        return joined::merge(records, output);
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
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Usage
        }
    }
}

/// The exit code that the whole run would have had; without some of its shards it can only be a failure, or incomplete.
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
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Usage
        }
    }
}

fn write(report: &Report, folder: &Path) -> Exit {
    match report::write_all(report, folder) {
        Ok(()) => {
            eprintln!("reports are in {}", folder.display());
            Exit::Passed
        }
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Environment
        }
    }
}
