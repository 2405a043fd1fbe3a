//! The parts of `explore`, `sweep` and `selftest` that several machines have run, joined into the whole.

use std::path::{Path, PathBuf};

use suites::{Found, Part};

use crate::out::eprintln;
use crate::{Exit, explore, selftest, sweep};

/// Joins parts, and ends as the whole command would have ended, or with 6 while parts are missing.
pub(crate) fn merge(paths: &[PathBuf], output: &Path) -> Exit {
    let part = match Part::join(paths) {
        Ok(part) => part,
        Err(error) => {
            eprintln!("error: {error}");
            return Exit::Usage;
        }
    };
    let missing = part.shards.as_ref().map(|shards| {
        let parts = shards.missing().map(|part| format!("{part}/{}", shards.of));
        parts.collect::<Vec<_>>().join(", ")
    });
    let exit = match part.found {
        Found::Explored(explored) => {
            let why = missing
                .iter()
                .map(|missing| format!("shards {missing} are missing"));
            explore::gather(*explored, (part.started, part.seconds), why.collect(), output)
        }
        Found::Swept(cases) => sweep::gather(&cases, output),
        Found::Held(share) => {
            let mut report = share.report(part.shards.as_ref(), part.command);
            report.started = part.started;
            report.seconds = part.seconds;
            selftest::tell(&report, false, Some(output))
        }
    };
    match (missing, exit) {
        (None, exit) => exit,
        (Some(missing), exit) => {
            eprintln!("error: missing shards: {missing}; name the part.json of every shard");
            match exit {
                Exit::Failed | Exit::Environment => exit,
                _ => Exit::Incomplete,
            }
        }
    }
}
