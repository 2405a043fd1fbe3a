//! How this program was started: by cargo in a checkout of this project, by kubectl, or as a program of its own.
//!
//! Read from the surroundings of the process, so that no folder of the build is in the program.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Where cargo says to a program which package it runs.
const PACKAGE: &str = "CARGO_MANIFEST_DIR";

/// What makes a folder a checkout of this project.
const CASES: &str = "suites/cases";

static CHECKOUT: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let package = PathBuf::from(std::env::var_os(PACKAGE)?);
    let mut folders = package.ancestors();
    folders
        .find(|folder| folder.join(CASES).is_dir())
        .map(Path::to_owned)
});

/// The checkout of this project in which cargo started this program; none: it runs on its own.
pub fn checkout() -> Option<&'static Path> {
    CHECKOUT.as_deref()
}

/// Where the cases of a checkout are.
pub fn cases_of(checkout: &Path) -> PathBuf {
    checkout.join(CASES)
}

/// How the user calls this program, for commands in messages.
pub fn program() -> &'static str {
    match checkout() {
        Some(_) => "cargo xtask",
        None => "csi-capacity",
    }
}
