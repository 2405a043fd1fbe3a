//! `study`: the experiments with which the documents argue, repeated. Thin: which one, how large, and where its result goes.

mod page;
mod svg;
mod terminal;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use capacity_study::{STUDIES, Setup, Size, Study};
use clap::Args;
use suites::harness::report::Paint;
use suites::report::write_file;

use crate::Exit;
use crate::out::{eprintln, println};

/// Arguments of `study`.
#[derive(Args)]
pub(crate) struct StudyArgs {
    /// Which one; without a name all are listed
    name: Option<String>,
    /// As little as shows every statement
    #[arg(long)]
    small: bool,
    /// Decides every random choice
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Write the result as a page with plots, and as JSON, into that folder
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Makes a study, and says what it found.
pub(crate) fn run(args: &StudyArgs) -> Exit {
    let Some(name) = &args.name else {
        STUDIES.iter().for_each(|(name, _)| println!("{name}"));
        return Exit::Passed;
    };
    let setup = Setup {
        size: if args.small { Size::Small } else { Size::Full },
        seed: args.seed,
    };
    let Some(study) = made(name, setup) else {
        let names: Vec<&str> = STUDIES.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "error: no study is called `{name}`; there are {}",
            names.join(", ")
        );
        return Exit::Usage;
    };
    tell(args, &study).map_or_else(
        |error| {
            eprintln!("error: {error}");
            Exit::Environment
        },
        |()| if study.holds() { Exit::Passed } else { Exit::Failed },
    )
}

fn made(name: &str, setup: Setup) -> Option<Study> {
    let (_, make) = STUDIES.iter().find(|(known, _)| *known == name)?;
    Some(make(setup))
}

/// The statements of which a study, at its small size, has a finding; none if there is no such study.
pub fn statements_of_study(name: &str) -> Option<BTreeSet<&'static str>> {
    let setup = Setup {
        size: Size::Small,
        seed: 1,
    };
    let study = made(name, setup)?;
    let findings = study.findings.iter();
    Some(findings.map(|finding| finding.statement()).collect())
}

fn tell(args: &StudyArgs, study: &Study) -> Result<(), String> {
    let json = serde_json::to_string_pretty(study).map_err(|error| error.to_string())?;
    if let Some(folder) = &args.output {
        write(folder, study, &json)?;
    }
    match args.json {
        true => println!("{json}"),
        false => println!("{}", terminal::text(study, Paint::of(&std::io::stdout()))),
    }
    Ok(())
}

fn write(folder: &Path, study: &Study, json: &str) -> Result<(), String> {
    let file = |end: &str| format!("study-{}.{end}", study.name);
    write_file(folder, &file("html"), &page::page(study))
        .and_then(|()| write_file(folder, &file("json"), json))
        .map_err(|error| error.to_string())
}
