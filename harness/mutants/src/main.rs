//! `cargo xtask` with mutants: the same command line, for commands that need them.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main_with(mutants::systems)
}
