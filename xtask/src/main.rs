//! `csi-capacity`, in a checkout `cargo xtask`: see [`xtask::main`].

use std::process::ExitCode;

use built_in_files::{CASES, MANIFESTS};
use suites::BuiltInFiles;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    xtask::main(BuiltInFiles {
        cases: CASES,
        manifests: MANIFESTS,
    })
}
