//! The parts of `explore`, `sweep` and `selftest` that several machines have run: written by each, and joined into the whole.

use std::path::{Path, PathBuf};

use suites::{Found, Part, Shard};

use crate::args::PartArgs;
use crate::out::eprintln;
use crate::{Exit, explore, selftest, sweep};

/// Now, as records have it.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The folder of the reports, without which a part is of no use to others.
pub(crate) fn output<'o>(part: &PartArgs, output: Option<&'o Path>) -> Result<Option<&'o Path>, Exit> {
    if part.shard.is_some() && output.is_none() {
        eprintln!(
            "error: nothing is left of a shard that could be joined with the others; name a folder with --output"
        );
        return Err(Exit::Usage);
    }
    Ok(output)
}

/// Says that a shard has nothing to do.
pub(crate) fn empty(shard: Shard) -> Exit {
    eprintln!("error: nothing is left for shard {shard}; take fewer shards");
    Exit::Nothing
}

/// Writes the part of a command that has ended so.
pub(crate) fn write(part: Part, folder: &Path, exit: Exit) -> Exit {
    match part.write(folder) {
        Ok(()) => exit,
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Environment
        }
    }
}

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
