//! Merges the `part.json` files that several machines wrote for one `explore`, `sweep` or `selftest` run.

use std::path::{Path, PathBuf};

use suites::ShardFile;

use crate::lab::{self, CommandResult};
use crate::out::eprintln;
use crate::{Exit, explore};

/// Merges the `part.json` files, and prints and writes the result. The exit code is that of the command for the whole run, or 6 if shards
/// are missing.
pub(crate) fn merge(paths: &[PathBuf], output: &Path) -> Exit {
    #[cfg(not(feature = "labs"))]
    if lab::has_labs_part(paths) {
        return lab::exec_with_labs();
    }
    let part: ShardFile<CommandResult> = match ShardFile::join(paths) {
        Ok(part) => part,
        Err(error) => return Exit::Usage.with_error(error),
    };
    let missing = part.shards.as_ref().map(|shards| {
        let parts = shards.missing().map(|part| format!("{part}/{}", shards.of));
        parts.collect::<Vec<_>>().join(", ")
    });
    let exit = match part.found {
        CommandResult::Explored(explored) => {
            let why = missing
                .iter()
                .map(|missing| format!("shards {missing} are missing"));
            explore::print_merged(*explored, (part.started, part.seconds), why.collect(), output)
        }
        #[cfg(feature = "labs")]
        _ => lab::print_merged(part, output),
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
