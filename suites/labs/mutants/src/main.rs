//! `cargo xtask` with mutants: the same command line, for commands that need them.

use std::process::ExitCode;

use built_in_files::{CASES, MANIFESTS};
use mutants::MUTANTS;
use suites::BuiltInFiles;

fn main() -> ExitCode {
    let files = BuiltInFiles {
        cases: CASES,
        manifests: MANIFESTS,
    };
    xtask::main_with_mutants(files, MUTANTS)
}
