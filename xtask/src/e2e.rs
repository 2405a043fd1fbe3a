//! `e2e`: runs the cases against the built-in references.

use suites::report::SystemRecord;

use crate::args::{E2eArgs, default_jobs};
use crate::mutants;
use crate::runner::{Cases, Run, run_cases};
use crate::{Exit, every_dialect};
use references::Defect;
use references::{built_in, in_dialect};

pub(crate) fn run(args: &E2eArgs) -> Result<Exit, Exit> {
    if args.every_dialect {
        return every_dialect::run(args);
    }
    mutants::ensure_available(args.defect)?;
    args.repeat.run(|| {
        run_cases(Run {
            cases: Cases::Selected(&args.select),
            run: &args.run,
            jobs: args
                .jobs
                .unwrap_or_else(|| default_jobs(&args.run, args.time.simulate)),
            simulate: args.time.simulate,
            systems: match &args.dialect {
                Some(dialect) => in_dialect(dialect),
                None => built_in(args.defect),
            },
            manifest: None,
            defect: args.defect,
            record: record(args.defect),
            accept: None,
            dialect: args.dialect.as_ref(),
            command: args.select.with_folder_option(command_line(args)),
        })
    })
}

/// The command line without the selected cases.
fn command_line(args: &E2eArgs) -> Vec<String> {
    let mut words = defect_words(args.defect, "e2e");
    words.extend(
        args.dialect
            .as_ref()
            .map(|dialect| format!("--dialect={dialect}")),
    );
    words.extend(args.time.words());
    words
}

/// The references, as described in reports.
pub(crate) fn record(defect: Option<Defect>) -> SystemRecord {
    let name = "built-in references";
    SystemRecord {
        name: defect.map_or_else(|| name.to_owned(), |defect| format!("{name} with {defect}")),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        roles: vec!["publisher".to_owned(), "scheduler".to_owned()],
        features: Vec::new(),
    }
}

/// The words of a command line, with the `--defect` option if there is a defect.
pub(crate) fn defect_words(defect: Option<Defect>, command: &str) -> Vec<String> {
    let defect = defect.map(|defect| format!("--defect={defect}"));
    [Some(command.to_owned()), defect].into_iter().flatten().collect()
}
