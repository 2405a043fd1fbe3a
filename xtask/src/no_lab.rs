//! The commands of the labs in a build without the feature `labs`: only their names, and the start of a build with the feature.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use crate::Exit;
use crate::exec::exec_package;
use crate::out::eprintln;

pub(crate) use suites::CommandResult;

/// Commands that exist only in a build with the feature `labs`.
const COMMANDS: [&str; 4] = ["bench", "selftest", "study", "sweep"];

/// The unparsed arguments of a labs command.
#[derive(Args)]
pub(crate) struct UnparsedArgs {}

pub(crate) use self::{
    UnparsedArgs as BenchArgs, UnparsedArgs as SelftestArgs, UnparsedArgs as StudyArgs,
    UnparsedArgs as SweepArgs, command as bench, command as coverage, command as selftest, command as study,
    command as sweep,
};

/// Placeholder for every labs command: starts the build with the feature `labs`.
pub(crate) fn command<A>(_arguments: A) -> Result<Exit, Exit> {
    Ok(exec_with_labs())
}

/// Whether the arguments name a labs command, or a command that lists all commands.
pub(crate) fn is_requested() -> bool {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["completions", ..] => true,
        ["help" | "man", command, ..] | [command, ..] if COMMANDS.contains(command) => true,
        ["list", flags @ ..] => flags.contains(&"--coverage"),
        _ => false,
    }
}

/// Whether one of these part.json files was written by a labs command.
pub(crate) fn has_labs_part(parts: &[PathBuf]) -> bool {
    parts.iter().any(|path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let part: Value = serde_json::from_str(&text).unwrap_or_default();
        part["found"].is_object() && part["found"]["explored"].is_null()
    })
}

/// Starts the build with the feature `labs`. Returns only on failure, with the exit code.
pub(crate) fn exec_with_labs() -> Exit {
    eprintln!("this build does not include the labs; starting a build that does (cargo run --package xtask)");
    exec_package(
        "xtask",
        "this build does not include the labs, to which this command belongs",
    )
}
