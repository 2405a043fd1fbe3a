//! The folder of a case, which its sockets are in: a temporary one, or just a name where the sockets are names too.

use std::path::{Path, PathBuf};

use crate::temporary::{OF_CASE, Temporary};

/// A folder; one that is really there is removed when this is dropped.
#[derive(Debug)]
pub(crate) enum Folder {
    Temporary(Temporary),
    Name(PathBuf),
}

impl Folder {
    /// Makes a temporary folder.
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
