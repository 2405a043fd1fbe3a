//! How this program was started: by cargo in a checkout of this project, by kubectl, or as an installed program.
//!
//! Read from the environment at run time, so that the program contains no path of the build host.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Environment variable of cargo with the folder of the package that it runs.
const PACKAGE: &str = "CARGO_MANIFEST_DIR";

/// Folder that identifies a checkout of this project.
const CASES: &str = "suites/cases";

static CHECKOUT: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let package = PathBuf::from(std::env::var_os(PACKAGE)?);
    let mut folders = package.ancestors();
    folders
        .find(|folder| folder.join(CASES).is_dir())
        .map(Path::to_owned)
});

/// The checkout of this project in which cargo started this program; `None`: an installed program.
pub fn checkout() -> Option<&'static Path> {
    CHECKOUT.as_deref()
}

/// The folder with the cases of a checkout.
pub fn cases_of(checkout: &Path) -> PathBuf {
    checkout.join(CASES)
}

/// Command line that starts this program, for commands in messages.
pub fn program() -> &'static str {
    match checkout() {
        Some(_) => "cargo xtask",
        None => "csi-capacity",
    }
}
