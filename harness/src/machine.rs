//! Resources of the host that a run needs: file descriptors and disk space. Reports which resource is exhausted and how to get more.
//!
//! Does not know cases. Decides whether the host, rather than the program under test, may have caused a failure.

use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::statvfs;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

/// Limit of open files that is sufficient for any run. Not higher, because child processes inherit the limit, and some programs close every
/// file descriptor below it.
const DESCRIPTORS_MAX: u64 = 1 << 16;

/// Minimum number of free file descriptors while cases run.
const DESCRIPTORS_MIN: usize = 4;

/// Minimum free bytes for temporary files while cases run.
const FREE_BYTES_MIN: u64 = 1 << 20;

/// Size in bytes of a test write. Too large to be stored inside an inode, so that the write needs disk space.
const PROBE_BYTES: usize = 1 << 16;

/// An exhausted resource of the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    /// The process has no free file descriptors.
    #[error("the harness ran out of file descriptors; {}", MORE_FILES)]
    Descriptors,
    /// The disk of the folder for temporary files is full.
    #[error("{} is full; free space there, or set TMPDIR to a folder that has some", folder.display())]
    Space {
        /// The folder for temporary files.
        folder: PathBuf,
    },
}

const MORE_FILES: &str = "raise the limit with `ulimit -n 4096`, or run fewer cases at once with `--jobs`";

/// Raises the limit of open files of this process, up to its hard limit.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised_limit = limit.maximum.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX);
    if limit.current.is_some_and(|current| current < raised_limit) {
        let raised = Rlimit {
            current: Some(raised_limit),
            maximum: limit.maximum,
        };
        // On an error, the old limit of open files remains. `descriptor_limit_and_free` reads the limit that applies.
        setrlimit(Resource::Nofile, raised).ok();
    }
}

/// Limit of open files of this process, and the number of free file descriptors; `None` if unlimited or unknown.
pub fn descriptor_limit_and_free() -> Option<(usize, usize)> {
    let limit = usize::try_from(getrlimit(Resource::Nofile).current?).ok()?;
    let open = std::fs::read_dir("/dev/fd").ok()?.count();
    Some((limit, limit.saturating_sub(open)))
}

/// The resource of the host that is exhausted now, if any.
pub fn shortage() -> Option<Shortage> {
    let mut spare = Vec::with_capacity(DESCRIPTORS_MIN);
    for _ in 0..DESCRIPTORS_MIN {
        match File::open("/dev/null") {
            Ok(file) => spare.push(file),
            Err(error) if is_out_of_descriptors(&error) => return Some(Shortage::Descriptors),
            Err(_) => break,
        }
    }
    let folder = std::env::temp_dir();
    let found = statvfs(&folder).ok()?;
    // Some file systems do not count inodes and report 0.
    let is_full = found.f_bavail.saturating_mul(found.f_frsize) < FREE_BYTES_MIN
        || (found.f_files > 0 && found.f_favail == 0);
    is_full.then_some(Shortage::Space { folder })
}

/// Runs `work`. Returns its result and the resource that was exhausted meanwhile, if any.
pub async fn with_shortage<T>(work: impl Future<Output = T>) -> (T, Option<Shortage>) {
    /// The interval must be short enough to notice a shortage that causes a timeout.
    const CHECK_INTERVAL: Duration = Duration::from_millis(200);
    let (mut work, mut seen) = (std::pin::pin!(work), None);
    loop {
        tokio::select! {
            done = &mut work => return (done, seen.or_else(shortage)),
            () = tokio::time::sleep(CHECK_INTERVAL) => seen = seen.or_else(shortage),
        }
    }
}

/// Checks that files can be written into a folder. Creates the folder if necessary.
pub fn check_writable(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".probe-").tempfile_in(folder)?;
    file.write_all(&vec![0; PROBE_BYTES])?;
    file.as_file().sync_all()
}

/// How to fix an error of a write into a folder. `instead`: text that explains how to choose another folder.
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

/// The current user's folder for temporary files that must survive this process, such as run folders.
pub fn own_temporary_folder() -> PathBuf {
    std::env::temp_dir().join(format!("csi-capacity-{}", getuid().as_raw()))
}

/// Creates a folder that only this user can read and write. Fails if another user owns the folder or can write into it.
pub fn create_private_folder(folder: &Path) -> std::io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Does not follow a symbolic link, which another user may have created.
    let found = std::fs::symlink_metadata(folder)?;
    let why = match found.is_dir() && found.uid() == getuid().as_raw() {
        true if found.mode() & 0o022 == 0 => return Ok(()),
        true => "other users may write into the folder",
        false => "another user owns the folder, or the path is not a folder",
    };
    Err(Error::new(ErrorKind::PermissionDenied, why))
}

fn is_out_of_descriptors(error: &Error) -> bool {
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE]
        .map(|errno| Some(errno.raw_os_error()))
        .contains(&code)
}
