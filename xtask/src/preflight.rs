//! Checks before cases run: open-file limit and temporary files. Does not know cases.

use std::path::Path;

use suites::harness::machine;

use crate::Exit;
use crate::out::eprintln;

/// File descriptors reserved per case. With 64 concurrent cases, a case used up to 37; the largest case uses 70.
const PER_CASE: usize = 64;

/// File descriptors reserved for the reports of the run.
const OWN: usize = 32;

/// Maximum number of concurrent cases for which the open-file limit suffices; `None` if unlimited.
pub(crate) fn max_concurrent_cases() -> Option<usize> {
    let (_, left) = machine::descriptor_limit_and_free()?;
    Some(left.saturating_sub(OWN) / PER_CASE)
}

/// Reduces the requested number of concurrent cases to the number that the open-file limit allows. Prints its own errors.
pub(crate) fn limit_jobs(wanted: usize) -> Result<usize, Exit> {
    let Some((limit, left)) = machine::descriptor_limit_and_free() else {
        return Ok(wanted);
    };
    match left.saturating_sub(OWN) / PER_CASE {
        0 => {
            let least = limit - left + OWN + PER_CASE;
            eprintln!(
                "error: this process may have {limit} files open, and one case needs up to {least}; raise the limit with \
                 `ulimit -n 4096`"
            );
            Err(Exit::Environment)
        }
        fitting if fitting < wanted => {
            eprintln!(
                "{fitting} cases run at once, not {wanted}: this process may have {limit} files open; raise the limit with \
                 `ulimit -n {}`",
                limit - left + OWN + wanted * PER_CASE
            );
            Ok(fitting)
        }
        _ => Ok(wanted),
    }
}

/// Checks that a folder is writable, and creates the folder if needed. Prints its own errors.
pub(crate) fn check_output_folder(folder: &Path) -> Result<(), Exit> {
    machine::check_writable(folder).map_err(|error| {
        eprintln!("error: {}", unwritable(folder, &error));
        Exit::Environment
    })
}

/// Error message for an output folder that is not writable, with the remedy.
pub(crate) fn unwritable(folder: &Path, error: &std::io::Error) -> String {
    let remedy = machine::remedy(error, folder, "name another folder with --output");
    format!("cannot write into {}: {error}; {remedy}", folder.display())
}

/// Checks that temporary files can be written. Prints its own errors.
pub(crate) fn temporary_files() -> Result<(), Exit> {
    check_temporary_folder("cannot write temporary files into ")
        .map_err(|why| Exit::Environment.with_error(why))
}

/// Checks that the temporary folder is writable and has enough space. `prefix`: beginning of the message about a folder that is not
/// writable.
pub(crate) fn check_temporary_folder(prefix: &str) -> Result<(), String> {
    let folder = std::env::temp_dir();
    machine::check_writable(&folder).map_err(|error| {
        let remedy = machine::remedy(&error, &folder, "set TMPDIR to another folder");
        format!("{prefix}{}: {error}; {remedy}", folder.display())
    })?;
    machine::shortage().map_or(Ok(()), |shortage| Err(shortage.to_string()))
}
