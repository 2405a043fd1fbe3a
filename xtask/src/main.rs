//! `cargo xtask`: see [`xtask::run`].

use std::process::ExitCode;

/// A panic is an internal error, and says so with a code of its own.
const OUR_FAULT: u8 = 70;

fn main() -> ExitCode {
    std::panic::catch_unwind(xtask::run).map_or(ExitCode::from(OUR_FAULT), ExitCode::from)
}
