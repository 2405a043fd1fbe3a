//! Replaces this process by another program of the checkout, which cargo builds from the current sources.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use suites::harness::invocation::checkout;

use crate::Exit;
use crate::interrupt::is_interrupted;
use crate::out::eprintln;

/// Runs another package's program with the arguments of this process. Returns only on failure, with the exit code. `why`: the reason that
/// this program cannot do it, for the message.
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
        if is_of_a_package(&name) {
            other.env_remove(name);
        }
    }
    // An earlier signal would be lost: the other program installs its own signal handlers.
    if is_interrupted() {
        eprintln!("interrupted: nothing has run");
        return Exit::Interrupted;
    }
    let error = other.arg("--").args(std::env::args_os().skip(1)).exec();
    eprintln!("error: the program of package {package} does not start: {error}; is cargo in PATH?");
    Exit::Environment
}

/// The cargo profile of this program, so that the other one is as fast. Cargo names its target folders after profiles.
fn profile() -> String {
    let built_in = |program: PathBuf| {
        let folder = program.parent()?;
        // Cargo marks its target folders with this file; an installed program lies in none.
        folder.parent()?.join("CACHEDIR.TAG").exists().then_some(())?;
        folder.file_name()?.to_str().map(str::to_owned)
    };
    let folder = std::env::current_exe().ok().and_then(built_in);
    match folder.as_deref() {
        Some("debug") => "dev".to_owned(),
        // `dist` aborts at a panic. A mutant may panic, and the remaining ones still have to run.
        Some("dist") => "release".to_owned(),
        Some(profile) => profile.to_owned(),
        None if cfg!(debug_assertions) => "dev".to_owned(),
        None => "release".to_owned(),
    }
}

/// Whether cargo sets this variable for the package that it runs. Some build scripts rerun when it changes, which would rebuild nearly
/// everything.
fn is_of_a_package(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"CARGO_PKG_") || name.starts_with(b"CARGO_MANIFEST_")
}
