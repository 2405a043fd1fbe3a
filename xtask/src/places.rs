//! Where files go that nobody named a place for: below `target` of a checkout, else into a temporary folder of the user's own.
//!
//! Knows no file.

use std::path::{Path, PathBuf};

use suites::harness::invocation::checkout;
use suites::harness::machine;

use crate::Exit;
use crate::out::eprintln;

/// The place of that name. Nothing is made yet.
pub(crate) fn of(name: &str) -> PathBuf {
    let Some(checkout) = checkout() else {
        return machine::own_temporary_folder().join(name);
    };
    // Short where the user stands in the checkout, which is where they run this.
    match std::env::current_dir() {
        Ok(here) if here == checkout => Path::new("target").join(name),
        _ => checkout.join("target").join(name),
    }
}

/// Makes the user's temporary folder if that is where a place is, and makes sure that nobody else can write there. The error is reported
/// already.
pub(crate) fn prepare(place: &Path) -> Result<(), Exit> {
    private(place).map_err(|error| {
        eprintln!(
            "error: {} can't be this user's own folder: {error}; remove it, or set TMPDIR to another folder",
            machine::own_temporary_folder().display()
        );
        Exit::Environment
    })
}

/// The same, without a report.
pub(crate) fn private(place: &Path) -> std::io::Result<()> {
    let own = machine::own_temporary_folder();
    match place.starts_with(&own) {
        true => machine::keep_private(&own),
        false => Ok(()),
    }
}
