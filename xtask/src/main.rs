//! `csi-capacity`, in a checkout `cargo xtask`: see [`xtask::main`].

use std::process::ExitCode;

use built_in_files::{CASES, MANIFESTS};
use suites::Carried;

fn main() -> ExitCode {
    xtask::main(Carried {
        cases: CASES,
        manifests: MANIFESTS,
    })
}
