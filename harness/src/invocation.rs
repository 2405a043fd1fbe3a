//! How this program was started: by cargo in a checkout of this project, by kubectl, or as an installed program.
//!
//! Read from the environment at run time, so that the executable contains no path of the build host.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Environment variable in which cargo passes the folder of the package to the program.
const PACKAGE: &str = "CARGO_MANIFEST_DIR";

/// Folder whose existence identifies a checkout of this project.
const CASES: &str = "suites/cases";

static CHECKOUT: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let package = PathBuf::from(std::env::var_os(PACKAGE)?);
    let mut folders = package.ancestors();
    folders
        .find(|folder| folder.join(CASES).is_dir())
        .map(Path::to_owned)
});

/// The checkout of this project from which cargo started this program; `None` for an installed program.
pub fn checkout() -> Option<&'static Path> {
    CHECKOUT.as_deref()
}

/// The folder of a checkout that contains the cases.
pub fn cases_of(checkout: &Path) -> PathBuf {
    checkout.join(CASES)
}

/// The command that starts this program, for use in messages.
pub fn program() -> &'static str {
    match checkout() {
        Some(_) => "cargo xtask",
        None => "csi-capacity",
    }
}
