//! Goes on as another program of the checkout, which cargo builds from the sources at that moment.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use suites::harness::invocation::checkout;

use crate::Exit;
use crate::interrupt::is_interrupted;
use crate::out::eprintln;

/// Does what the arguments of the process say as the program of that package. Returns only with the exit code of a failure. `why`: why this
/// program does not do it.
pub(crate) fn go_on_as(package: &str, why: &str) -> Exit {
    let Some(checkout) = checkout() else {
        eprintln!(
            "error: {why}, and cargo builds what has it in a checkout of csi-capacity-harness; run `cargo xtask` there"
        );
        return Exit::Environment;
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut other = Command::new(cargo);
    other
        .args(["run", "--quiet", "--package", package, "--manifest-path"])
        .arg(checkout.join("Cargo.toml"))
        .args(["--profile", &profile()]);
    for name in std::env::vars_os().map(|(name, _)| name) {
        if is_of_a_package(&name) {
            other.env_remove(name);
        }
    }
    // The other program hears signals from its own beginning.
    if is_interrupted() {
        eprintln!("interrupted: nothing has run");
        return Exit::Interrupted;
    }
    let error = other.arg("--").args(std::env::args_os().skip(1)).exec();
    eprintln!("error: the program of package {package} does not start: {error}; is cargo in PATH?");
    Exit::Environment
}

/// The profile with which this program was built, so that the other one is as fast: cargo puts programs into a folder of that name.
fn profile() -> String {
    let built_in = |program: PathBuf| {
        let folder = program.parent()?;
        // Cargo marks its target folders; an installed program is in none.
        folder.parent()?.join("CACHEDIR.TAG").exists().then_some(())?;
        folder.file_name()?.to_str().map(str::to_owned)
    };
    let folder = std::env::current_exe().ok().and_then(built_in);
    match folder.as_deref() {
        Some("debug") => "dev".to_owned(),
        // A mutant may panic, and others are to run after it.
        Some("dist") => "release".to_owned(),
        Some(profile) => profile.to_owned(),
        None if cfg!(debug_assertions) => "dev".to_owned(),
        None => "release".to_owned(),
    }
}

/// Whether cargo tells a program with that variable which package it belongs to. Some build scripts run again when it changes, and with
/// them nearly everything would be built anew.
fn is_of_a_package(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"CARGO_PKG_") || name.starts_with(b"CARGO_MANIFEST_")
}
