//! Output folder of a run: the folder given by `--output`, or a numbered folder that no concurrent run uses.
//!
//! Does not know verdicts. The folder is locked during the run; the operating system releases the lock when the process ends.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use suites::harness::machine;
use suites::report::{CASES, RECORD, Report, WriteError, remove_runs, write_all, write_record};

use crate::preflight::unwritable;
use crate::{Exit, folders};

/// Maximum number of concurrent runs of a checkout or a user.
const MAX_CONCURRENT_RUNS: usize = 64;

/// The output folder of this run, and its lock.
pub(crate) struct RunFolder {
    /// The folder given by `--output`, or a numbered folder.
    folder: PathBuf,
    is_output: bool,
    /// The lock of the folder, held during the run so that no other run writes there.
    _lock: Option<File>,
}

impl RunFolder {
    /// Locks a folder for this run, and checks that the folder is writable. Prints its own errors.
    pub(crate) fn lock(output: Option<&Path>) -> Result<Self, Exit> {
        let claimed = match output {
            Some(folder) => Self::lock_output(folder),
            None => {
                folders::prepare(&folders::default_folder("runs"))?;
                Self::lock_numbered()
            }
        };
        claimed.map_err(|why| Exit::Environment.with_error(why))
    }

    fn lock_output(folder: &Path) -> Result<Self, String> {
        let Some(lock) = locked(folder)? else {
            return Err(format!(
                "another run writes its report into {}; name another folder with --output",
                folder.display()
            ));
        };
        remove_runs(folder).map_err(|error| error.to_string())?;
        Ok(RunFolder {
            folder: folder.to_owned(),
            is_output: true,
            _lock: lock.0,
        })
    }

    fn lock_numbered() -> Result<Self, String> {
        match first_unlocked("runs")? {
            Some((folder, lock)) => Ok(RunFolder {
                folder,
                is_output: false,
                _lock: lock.0,
            }),
            None => Err(format!(
                "{MAX_CONCURRENT_RUNS} runs are in progress here already; wait for one to end, or choose another folder with --output FOLDER"
            )),
        }
    }

    /// The folder in which the runs of cases are stored.
    pub(crate) fn cases(&self) -> PathBuf {
        match self.is_output {
            true => self.folder.join(CASES),
            false => self.folder.clone(),
        }
    }

    /// Writes all report formats into the folder given by `--output`. Without `--output`, writes only report.json, for `rerun`.
    pub(crate) fn write(&self, report: &Report) -> Result<(), WriteError> {
        match self.is_output {
            true => write_all(report, &self.folder),
            false => write_record(report, &self.folder),
        }
    }
}

/// The report.json of the last run without `--output`. A report that another user may have written is rejected, because it contains a
/// command to run. Prints its own errors.
pub(crate) fn last_record() -> Result<Option<PathBuf>, Exit> {
    folders::prepare(&folders::default_folder("runs"))?;
    let records = candidates("runs").map(|folder| folder.join(RECORD));
    let written = |path: &PathBuf| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    Ok(records.filter(|path| path.is_file()).max_by_key(written))
}

/// A lock on a folder, released on drop.
pub(crate) struct Lock(Option<File>);

/// Locks a folder, and creates it if needed; `None` if another process has the lock.
fn locked(folder: &Path) -> Result<Option<Lock>, String> {
    let unwritable_error = |error: std::io::Error| unwritable(folder, &error);
    machine::check_writable(folder).map_err(unwritable_error)?;
    let file = File::open(folder).map_err(unwritable_error)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock(Some(file)))),
        Err(TryLockError::WouldBlock) => Ok(None),
        // Some file systems do not support locks, so the folder is used without a lock.
        Err(TryLockError::Error(_)) => Ok(Some(Lock(None))),
    }
}

/// The first unlocked folder among those named `name` or `name` with a number; `None` if all are locked.
pub(crate) fn first_unlocked(name: &str) -> Result<Option<(PathBuf, Lock)>, String> {
    for folder in candidates(name) {
        if let Some(lock) = locked(&folder)? {
            return Ok(Some((folder, lock)));
        }
    }
    Ok(None)
}

fn candidates(name: &str) -> impl Iterator<Item = PathBuf> {
    (1..=MAX_CONCURRENT_RUNS).map(move |number| match number {
        1 => folders::default_folder(name),
        number => folders::default_folder(&format!("{name}-{number}")),
    })
}
