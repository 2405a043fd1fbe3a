//! Where a run keeps what is left of it: the folder of `--output`, or one among the places for runs that no other run writes at the same
//! time.
//!
//! Knows no verdict. A folder is locked as long as its run lasts; the system takes the lock away when the process ends, however it ends.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use suites::harness::machine;
use suites::report::{CASES, RECORD, Report, WriteError, forget_runs, remember, write_all};

use crate::out::eprintln;
use crate::preflight::unwritable;
use crate::{Exit, places};

/// Runs of one checkout, or of one user, at the same time at most.
const AT_ONCE: usize = 64;

/// The folder of a run that goes on.
pub(crate) struct Keep {
    /// What `--output` names, or the folder of runs.
    folder: PathBuf,
    is_output: bool,
    /// Nobody else writes there while it is open.
    _lock: Option<File>,
}

impl Keep {
    /// Takes a folder for this run, after looking whether it can be written. The error is reported already.
    pub(crate) fn claim(output: Option<&Path>) -> Result<Self, Exit> {
        let claimed = match output {
            Some(folder) => Self::output(folder),
            None => {
                places::prepare(&places::of("runs"))?;
                Self::unnamed()
            }
        };
        claimed.map_err(|why| {
            eprintln!("error: {why}");
            Exit::Environment
        })
    }

    fn output(folder: &Path) -> Result<Self, String> {
        let Some(lock) = locked(folder)? else {
            return Err(format!(
                "another run writes its report into {}; name another folder with --output",
                folder.display()
            ));
        };
        forget_runs(folder).map_err(|error| error.to_string())?;
        Ok(Keep {
            folder: folder.to_owned(),
            is_output: true,
            _lock: lock.0,
        })
    }

    fn unnamed() -> Result<Self, String> {
        match first_free("runs")? {
            Some((folder, lock)) => Ok(Keep {
                folder,
                is_output: false,
                _lock: lock.0,
            }),
            None => Err(format!(
                "{AT_ONCE} runs go on here already; wait for one, or keep this one elsewhere with --output FOLDER"
            )),
        }
    }

    /// Where the runs of cases go.
    pub(crate) fn cases(&self) -> PathBuf {
        match self.is_output {
            true => self.folder.join(CASES),
            false => self.folder.clone(),
        }
    }

    /// Writes all reports into the folder of `--output`, else the record alone, for `rerun`.
    pub(crate) fn write(&self, report: &Report) -> Result<(), WriteError> {
        match self.is_output {
            true => write_all(report, &self.folder),
            false => remember(report, &self.folder),
        }
    }
}

/// The record of the last run without `--output`. It names a command to run, so a record that another user may have written is refused; that
/// error is reported already.
pub(crate) fn last_record() -> Result<Option<PathBuf>, Exit> {
    places::prepare(&places::of("runs"))?;
    let records = folders("runs").map(|folder| folder.join(RECORD));
    let written = |path: &PathBuf| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    Ok(records.filter(|path| path.is_file()).max_by_key(written))
}

/// That nobody else has a folder, as long as this is not dropped.
pub(crate) struct Lock(Option<File>);

/// Locks a folder, which is made if it is not there; none: somebody else has it.
fn locked(folder: &Path) -> Result<Option<Lock>, String> {
    let told = |error: std::io::Error| unwritable(folder, &error);
    machine::can_write(folder).map_err(told)?;
    let file = File::open(folder).map_err(told)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock(Some(file)))),
        Err(TryLockError::WouldBlock) => Ok(None),
        // Not every file system has locks.
        Err(TryLockError::Error(_)) => Ok(Some(Lock(None))),
    }
}

/// The first place of that name, or with a number behind it, that nobody else has; none: all are taken.
pub(crate) fn first_free(name: &str) -> Result<Option<(PathBuf, Lock)>, String> {
    for folder in folders(name) {
        if let Some(lock) = locked(&folder)? {
            return Ok(Some((folder, lock)));
        }
    }
    Ok(None)
}

fn folders(name: &str) -> impl Iterator<Item = PathBuf> {
    (1..=AT_ONCE).map(move |number| match number {
        1 => places::of(name),
        number => places::of(&format!("{name}-{number}")),
    })
}
