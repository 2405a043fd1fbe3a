//! The shards of `explore`, `sweep` and `selftest`: their results as a file, and an empty shard. Does not know these commands.

use std::path::Path;

use suites::{Mergeable, Shard, ShardFile};

use crate::Exit;
use crate::out::eprintln;

pub(crate) fn print_empty_shard(shard: Shard) -> Exit {
    eprintln!("error: shard {shard} is empty; use fewer shards");
    Exit::NoCases
}

/// Writes the part.json of a shard. `exit`: the exit code of the command.
pub(crate) fn write_part(part: ShardFile<impl Mergeable>, folder: &Path, exit: Exit) -> Exit {
    match part.write(folder) {
        Ok(()) => exit,
        Err(error) => Exit::Environment.with_error(error),
    }
}
