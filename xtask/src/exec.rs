//! Replaces this process by another program of the checkout, which cargo builds from the current sources.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use suites::harness::invocation::checkout;

use crate::Exit;
use crate::interrupt::is_interrupted;
use crate::out::eprintln;

/// Runs the program of another package with the arguments of this process. Returns only on failure, with the exit code. `why`: the reason
/// that this program cannot run the command, for the message.
pub(crate) fn exec_package(package: &str, why: &str) -> Exit {
    let Some(checkout) = checkout() else {
        eprintln!(
            "error: {why}; only a build from a checkout of csi-capacity-harness supports it: run `cargo xtask` there"
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
        if is_package_variable(&name) {
            other.env_remove(name);
        }
    }
    // Without this check, a signal that has arrived already would be lost: the program that starts here installs its own signal handlers.
    if is_interrupted() {
        eprintln!("interrupted before any case ran");
        return Exit::Interrupted;
    }
    let error = other.arg("--").args(std::env::args_os().skip(1)).exec();
    eprintln!("error: the program of package {package} does not start: {error}; is cargo in PATH?");
    Exit::Environment
}

/// The cargo profile of this program, with which the program to start is built too. Cargo names its target folders after
/// profiles.
fn profile() -> String {
    let built_in = |program: PathBuf| {
        let folder = program.parent()?;
        // Cargo creates this file in its target folder; an installed program is in another folder.
        folder.parent()?.join("CACHEDIR.TAG").exists().then_some(())?;
        folder.file_name()?.to_str().map(str::to_owned)
    };
    let folder = std::env::current_exe().ok().and_then(built_in);
    match folder.as_deref() {
        Some("debug") => "dev".to_owned(),
        // With the profile `dist`, a panic of one mutant would abort the process before the other mutants have run.
        Some("dist") => "release".to_owned(),
        Some(profile) => profile.to_owned(),
        None if cfg!(debug_assertions) => "dev".to_owned(),
        None => "release".to_owned(),
    }
}

/// Whether cargo sets this environment variable for a package. If the cargo that starts here inherited the variable, it would rebuild most
/// crates.
fn is_package_variable(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"CARGO_PKG_") || name.starts_with(b"CARGO_MANIFEST_")
}
