//! The folder of a case, which its sockets are in: a temporary one, or just a name where the sockets are names too.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder; one that is really there is removed when this is dropped.
#[derive(Debug)]
pub(crate) enum Folder {
    Temporary(TempDir),
    Name(PathBuf),
}

impl Folder {
    /// Makes a temporary folder.
    pub(super) fn temporary() -> std::io::Result<Self> {
        // Short, for the path of a socket has 107 bytes at most.
        let folder = tempfile::Builder::new().prefix("csi-").tempdir()?;
        Ok(Folder::Temporary(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Folder::Temporary(folder) => folder.path(),
            Folder::Name(path) => path,
        }
    }
}
