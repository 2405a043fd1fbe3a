//! What `explore`, `sweep` and `selftest` have in common where several machines run parts of them. Knows none of these commands.

use std::path::Path;

use suites::{Part, Shard};

use crate::Exit;
use crate::args::PartArgs;
use crate::out::eprintln;

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
