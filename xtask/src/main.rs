//! `cargo xtask`: see [`xtask::main`].

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main()
}
