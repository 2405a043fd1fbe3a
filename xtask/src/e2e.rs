//! `e2e`: the cases against the built-in references.

use anstream::eprintln;
use suites::report::SystemRecord;

use crate::Exit;
use crate::built_in::built_in;
use crate::command::E2eArgs;
use crate::drive::{Drive, drive};

/// Runs the selected cases.
pub(crate) fn run(args: &E2eArgs) -> Exit {
    for time in 1..=args.repeat {
        if args.repeat > 1 {
            eprintln!("run {time} of {}", args.repeat);
        }
        let exit = drive(Drive {
            select: &args.select,
            run: &args.run,
            jobs: args.jobs,
            systems: built_in(args.defect),
            manifest: None,
            defect: args.defect,
            record: SystemRecord {
                name: "built-in references".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                roles: vec!["publisher".to_owned(), "scheduler".to_owned()],
                features: Vec::new(),
            },
            command: command(args),
        });
        if exit != Exit::Passed {
            return exit;
        }
    }
    Exit::Passed
}

fn command(args: &E2eArgs) -> Vec<String> {
    let mut command = vec!["e2e".to_owned()];
    if let Some(defect) = args.defect {
        command.push(format!("--defect={defect}"));
    }
    command
}
