//! What is looked at before cases run: open files, temporary files. Knows no case.

use std::path::Path;

use suites::harness::machine;

use crate::Exit;
use crate::out::eprintln;

/// File descriptors that a case needs, with some to spare: 64 cases at once had up to 37 each, the largest one alone 70.
const PER_CASE: usize = 64;

/// File descriptors that the run itself needs for its reports.
const OWN: usize = 32;

/// How many cases can run at once; none: as many as one likes.
pub(crate) fn fitting() -> Option<usize> {
    let (_, left) = machine::descriptors()?;
    Some(left.saturating_sub(OWN) / PER_CASE)
}

/// How many cases can run at once where so many are wanted: as many as there are file descriptors for. The error is reported already.
pub(crate) fn jobs(wanted: usize) -> Result<usize, Exit> {
    let Some((limit, left)) = machine::descriptors() else {
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

/// Whether results can be written into a folder, which is made if it is not there. The error is reported already.
pub(crate) fn output(folder: &Path) -> Result<(), Exit> {
    machine::can_write(folder).map_err(|error| {
        eprintln!("error: {}", unwritable(folder, &error));
        Exit::Environment
    })
}

/// Why nothing can be written into the folder of the results, and what to do.
pub(crate) fn unwritable(folder: &Path, error: &std::io::Error) -> String {
    let remedy = machine::remedy(error, folder, "name another folder with --output");
    format!("cannot write into {}: {error}; {remedy}", folder.display())
}

/// Whether temporary files can be written. The error is reported already.
pub(crate) fn temporary_files() -> Result<(), Exit> {
    let folder = std::env::temp_dir();
    let written = machine::can_write(&folder).map_err(|error| {
        let remedy = machine::remedy(&error, &folder, "set TMPDIR to another folder");
        format!(
            "cannot write temporary files into {}: {error}; {remedy}",
            folder.display()
        )
    });
    let lacking = || machine::shortage().map_or(Ok(()), |shortage| Err(shortage.to_string()));
    written.and_then(|()| lacking()).map_err(|why| {
        eprintln!("error: {why}");
        Exit::Environment
    })
}
