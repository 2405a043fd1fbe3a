//! The tokio runtime of the commands.

use crate::Exit;
use crate::out::eprintln;

/// Creates the tokio runtime. Prints its own errors.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Exit> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| {
        eprintln!("error: the asynchronous runtime does not start: {error}; check the limits of the process");
        Exit::Environment
    })
}
