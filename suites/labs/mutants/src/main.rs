//! `cargo xtask` with mutants compiled in: the same command line, for the commands that inject mutants.

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
