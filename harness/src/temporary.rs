//! Temporary folders of a run. Each folder is removed when its owner ends; folders of killed runs are removed by the next run.
//!
//! The owner holds a lock on a file in the folder, which the operating system releases when the owner ends. A process id would not be
//! sufficient, because it may be reused, or belong to another container that shares the folder.

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Once;

use rustix::process::getuid;
use tempfile::TempDir;

const LOCK: &str = ".csi-capacity.lock";

/// Prefixes of the names of temporary folders. Short, because the path of a Unix socket is limited to 107 bytes.
const PREFIXES: [&str; 2] = [OF_CASE, OF_PROGRAM];
/// Prefix of the folder of a case, which contains the sockets.
pub const OF_CASE: &str = "csi-";
/// Prefix of the folder of a program under test.
pub(crate) const OF_PROGRAM: &str = "sut-";

/// A temporary folder that is removed on drop.
#[derive(Debug)]
pub struct Temporary {
    folder: TempDir,
    /// The locked file in the folder; `None` if the file system does not support locks. Other runs remove no folder without a lock file.
    _lock: Option<File>,
}

impl Temporary {
    /// Creates a temporary folder. The first call in a process also removes the folders of killed runs.
    pub fn new(prefix: &str) -> std::io::Result<Self> {
        static FIRST: Once = Once::new();
        FIRST.call_once(|| remove_stale(&std::env::temp_dir()));
        let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
        Ok(Temporary {
            _lock: create_lock_file(folder.path())?,
            folder,
        })
    }

    /// Path of the temporary folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        remove(self.path()).ok();
    }
}

/// Removes a temporary folder, even if a program has created folders in it that cannot be read.
fn remove(folder: &Path) -> std::io::Result<()> {
    std::fs::remove_dir_all(folder).or_else(|_| {
        make_accessible(folder);
        std::fs::remove_dir_all(folder)
    })
}

fn make_accessible(folder: &Path) {
    let is_folder = std::fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    if is_folder && std::fs::set_permissions(folder, Permissions::from_mode(0o700)).is_ok() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.for_each(|entry| make_accessible(&entry.path()));
    }
}

/// Creates and locks the lock file of a folder. The file gets its final name only after the lock is held, because other runs remove a
/// folder with an unlocked lock file.
fn create_lock_file(folder: &Path) -> std::io::Result<Option<File>> {
    let unlocked = folder.join(".lock");
    let file = File::create_new(&unlocked)?;
    match file.try_lock() {
        Ok(()) => std::fs::rename(unlocked, folder.join(LOCK)).map(|()| Some(file)),
        Err(_) => std::fs::remove_file(unlocked).map(|()| None),
    }
}

/// Removes the temporary folders of this user whose owner process has ended. Errors are ignored.
fn remove_stale(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_named = PREFIXES
            .iter()
            .any(|prefix| name.to_string_lossy().starts_with(prefix));
        // The metadata of the directory entry itself is read, so that a symbolic link of another user is not followed.
        let is_own = |entry: &std::fs::DirEntry| {
            let found = entry.metadata();
            found.is_ok_and(|found| found.is_dir() && found.uid() == getuid().as_raw())
        };
        if !is_named || !is_own(&entry) {
            continue;
        }
        // The lock is held until the folder has been removed.
        let lock = File::open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok() && remove(&entry.path()).is_ok()) {
            tracing::debug!(folder = %entry.path().display(), "removed the temporary folder of a killed run");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_killed_runs_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, lock: bool| {
            let folder = parent.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            lock.then(|| create_lock_file(&folder).unwrap().unwrap())
        };
        drop(make("csi-gone", true));
        let unreadable = parent.path().join("csi-gone/a/b");
        std::fs::create_dir_all(&unreadable).unwrap();
        for folder in [&unreadable, unreadable.parent().unwrap()] {
            std::fs::set_permissions(folder, Permissions::from_mode(0o000)).unwrap();
        }
        drop(make("sut-gone", true));
        let _running = make("csi-running", true);
        make("csi-of-somebody", false);
        drop(make("other", true));
        remove_stale(parent.path());
        let left = std::fs::read_dir(parent.path()).unwrap();
        let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["csi-of-somebody", "csi-running", "other"]);
    }
}
