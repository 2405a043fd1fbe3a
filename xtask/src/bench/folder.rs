//! A folder for the sockets and files of a measurement, which goes away with it, however it ends.

use std::io::Result;
use std::path::{Path, PathBuf};

pub(super) struct Folder(PathBuf);

impl Folder {
    /// One of this process.
    pub(super) fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("csi-capacity-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Where that fails, there is nobody to tell.
        std::fs::remove_dir_all(&self.0).ok();
    }
}
