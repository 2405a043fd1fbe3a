//! Default output folders: in `target` of a checkout, otherwise in a temporary folder that belongs to the user.

use std::path::{Path, PathBuf};

use suites::harness::invocation::checkout;
use suites::harness::machine;

use crate::Exit;
use crate::out::eprintln;

/// The output folder with this name. Does not create the folder.
pub(crate) fn default_folder(name: &str) -> PathBuf {
    let Some(checkout) = checkout() else {
        return machine::own_temporary_folder().join(name);
    };
    // Within the checkout, a relative path makes the output shorter.
    match std::env::current_dir() {
        Ok(here) if here == checkout => Path::new("target").join(name),
        _ => checkout.join("target").join(name),
    }
}

/// Creates the user's temporary folder if `path` is in it, and makes sure that no other user can write there. Prints its own errors.
pub(crate) fn prepare(path: &Path) -> Result<(), Exit> {
    ensure_private(path).map_err(|error| {
        eprintln!(
            "error: {} cannot be used as a private folder of this user: {error}; remove it, or set TMPDIR to another folder",
            machine::own_temporary_folder().display()
        );
        Exit::Environment
    })
}

/// Creates the user's temporary folder if `path` is in it, and makes sure that no other user can write there. Returns its errors.
pub(crate) fn ensure_private(path: &Path) -> std::io::Result<()> {
    let own = machine::own_temporary_folder();
    match path.starts_with(&own) {
        true => machine::create_private_folder(&own),
        false => Ok(()),
    }
}
