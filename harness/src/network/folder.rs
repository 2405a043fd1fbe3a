//! The folder that contains the sockets of a case: a temporary folder, or only a name if the sockets are in memory.

use std::path::{Path, PathBuf};

use crate::temporary::{OF_CASE, Temporary};

/// A folder for sockets. A temporary folder is removed on drop.
#[derive(Debug)]
pub(crate) enum Folder {
    Temporary(Temporary),
    Name(PathBuf),
}

impl Folder {
    pub(super) fn temporary() -> std::io::Result<Self> {
        Temporary::new(OF_CASE).map(Folder::Temporary)
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Folder::Temporary(folder) => folder.path(),
            Folder::Name(path) => path,
        }
    }
}
