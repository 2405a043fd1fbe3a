//! Default output folders: below `target` of a checkout, otherwise in a temporary folder owned by the user.
//!
//! Does not know any file.

use std::path::{Path, PathBuf};

use suites::harness::invocation::checkout;
use suites::harness::machine;

use crate::Exit;
use crate::out::eprintln;

/// The folder of that name. Does not create it.
pub(crate) fn of(name: &str) -> PathBuf {
    let Some(checkout) = checkout() else {
        return machine::own_temporary_folder().join(name);
    };
    // A relative path is shorter in the output, for users in the checkout.
    match std::env::current_dir() {
        Ok(here) if here == checkout => Path::new("target").join(name),
        _ => checkout.join("target").join(name),
    }
}

/// Creates the user's temporary folder if `path` is in it, and makes sure that no other user can write there. Prints its own errors.
pub(crate) fn prepare(path: &Path) -> Result<(), Exit> {
    ensure_private(path).map_err(|error| {
        eprintln!(
            "error: {} can't be this user's own folder: {error}; remove it, or set TMPDIR to another folder",
            machine::own_temporary_folder().display()
        );
        Exit::Environment
    })
}

/// Like [`prepare`], but returns the error instead of printing it.
pub(crate) fn ensure_private(path: &Path) -> std::io::Result<()> {
    let own = machine::own_temporary_folder();
    match path.starts_with(&own) {
        true => machine::create_private_folder(&own),
        false => Ok(()),
    }
}
