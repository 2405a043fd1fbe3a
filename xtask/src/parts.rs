//! What `explore`, `sweep` and `selftest` have in common where several machines run parts of them. Knows none of these commands.

use std::path::Path;

use suites::{Findings, Part, Shard};

use crate::Exit;
use crate::out::eprintln;

/// Says that a shard has nothing to do.
pub(crate) fn empty(shard: Shard) -> Exit {
    eprintln!("error: nothing is left for shard {shard}; take fewer shards");
    Exit::Nothing
}

/// Writes the part of a command that has ended so.
pub(crate) fn write(part: Part<impl Findings>, folder: &Path, exit: Exit) -> Exit {
    match part.write(folder) {
        Ok(()) => exit,
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Environment
        }
    }
}
