//! What this machine lets a run have: file descriptors, and room for files. Says what lacks and how to get it.
//!
//! Knows no case. Says of a failure whether the machine, rather than the system under test, may have caused it.

use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::statvfs;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

/// More file descriptors than any run needs; a child inherits the limit, and some close every number below it when they start.
const ENOUGH: u64 = 1 << 16;

/// File descriptors that must be free while cases run.
const SPARE: usize = 4;

/// Bytes that must be free for temporary files while cases run.
const ROOM: u64 = 1 << 20;

/// Bytes that are written to see whether files can be written: more than fit into an inode.
const SAMPLE: usize = 1 << 16;

/// The machine does not have what a run needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    /// Of file descriptors.
    #[error("the harness ran out of file descriptors; {}", MORE_FILES)]
    Descriptors,
    /// Of space for temporary files.
    #[error("{} is full; free space there, or set TMPDIR to a folder that has some", folder.display())]
    Space {
        /// The folder.
        folder: PathBuf,
    },
}

const MORE_FILES: &str = "raise the limit with `ulimit -n 4096`, or run fewer cases at once with `--jobs`";

/// Raises the number of files that this process may have open, as far as it may do so itself.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if limit.current.is_some_and(|current| current < most) {
        let raised = Rlimit {
            current: Some(most),
            maximum: limit.maximum,
        };
        // The limit that holds is read again where the number of open files is compared with it.
        setrlimit(Resource::Nofile, raised).ok();
    }
}

/// How many files this process may have open, and how many of them it has not; none: there is no limit, or it is unknown.
pub fn descriptors() -> Option<(usize, usize)> {
    let limit = usize::try_from(getrlimit(Resource::Nofile).current?).ok()?;
    let open = std::fs::read_dir("/dev/fd").ok()?.count();
    Some((limit, limit.saturating_sub(open)))
}

/// What lacks at this moment.
pub fn shortage() -> Option<Shortage> {
    let mut spare = Vec::with_capacity(SPARE);
    for _ in 0..SPARE {
        match File::open("/dev/null") {
            Ok(file) => spare.push(file),
            Err(error) if is_out_of_descriptors(&error) => return Some(Shortage::Descriptors),
            Err(_) => break,
        }
    }
    let folder = std::env::temp_dir();
    let found = statvfs(&folder).ok()?;
    // Some file systems count no inodes at all.
    let is_full =
        found.f_bavail.saturating_mul(found.f_frsize) < ROOM || (found.f_files > 0 && found.f_favail == 0);
    is_full.then_some(Shortage::Space { folder })
}

/// Does something, and says what lacked meanwhile.
pub async fn watched<T>(work: impl Future<Output = T>) -> (T, Option<Shortage>) {
    /// Often enough for whatever takes the time to fail.
    const BETWEEN: Duration = Duration::from_millis(200);
    let (mut work, mut seen) = (std::pin::pin!(work), None);
    loop {
        tokio::select! {
            done = &mut work => return (done, seen.or_else(shortage)),
            () = tokio::time::sleep(BETWEEN) => seen = seen.or_else(shortage),
        }
    }
}

/// Whether files can be written into a folder, which is made if it is not there.
pub fn can_write(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".probe-").tempfile_in(folder)?;
    file.write_all(&vec![0; SAMPLE])?;
    file.as_file().sync_all()
}

/// What to do about an error with a folder. `instead`: how to name another one.
pub fn remedy(error: &Error, folder: &Path, instead: &str) -> String {
    let folder = folder.display();
    match error.kind() {
        _ if is_out_of_descriptors(error) => MORE_FILES.to_owned(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!("free space in {folder}, or {instead}"),
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            format!("make {folder} writable, or {instead}")
        }
        _ => format!("check {folder}, or {instead}"),
    }
}

/// A folder for temporary files that stay after the process, such as the runs of cases: one for each user.
pub fn own_temporary_folder() -> PathBuf {
    std::env::temp_dir().join(format!("csi-capacity-{}", getuid().as_raw()))
}

/// Makes a folder that only this user can read and write. Fails if another user made it or may write into it.
pub fn keep_private(folder: &Path) -> std::io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Not through a link, which another user may have put there.
    let found = std::fs::symlink_metadata(folder)?;
    let why = match found.is_dir() && found.uid() == getuid().as_raw() {
        true if found.mode() & 0o022 == 0 => return Ok(()),
        true => "other users may write into it",
        false => "it belongs to another user, or is no folder",
    };
    Err(Error::new(ErrorKind::PermissionDenied, why))
}

fn is_out_of_descriptors(error: &Error) -> bool {
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE]
        .map(|errno| Some(errno.raw_os_error()))
        .contains(&code)
}
