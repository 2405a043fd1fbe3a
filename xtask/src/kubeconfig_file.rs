//! Path of the kubeconfig of a served cluster: the one given, or one that no other served cluster uses.
//!
//! Does not know the kubeconfig's content.

use std::path::{Path, PathBuf};

use crate::out::eprintln;
use crate::run_folder::{Lock, first_unlocked};
use crate::{Exit, folders};

/// Folder name, below the default output folder.
const FOLDER: &str = "up";

/// The kubeconfig file.
pub(crate) struct KubeconfigFile {
    pub(crate) path: PathBuf,
    /// Lock of a temporary file, which is deleted when the cluster ends. `None` if the user gave the path; then the file stays.
    own: Option<Lock>,
}

impl KubeconfigFile {
    /// The given path, or one in an unused folder. Prints its own errors.
    pub(crate) fn of(named: Option<&Path>) -> Result<Self, Exit> {
        if let Some(path) = named {
            folders::prepare(path)?;
            let path = path.to_owned();
            return Ok(KubeconfigFile { path, own: None });
        }
        folders::prepare(&folders::of(FOLDER))?;
        let free = first_unlocked(FOLDER).and_then(|free| {
            free.ok_or_else(|| {
                "too many clusters are served here already; end one, or name a file with --kubeconfig"
                    .to_owned()
            })
        });
        let (folder, lock) = free.map_err(|why| {
            eprintln!("error: {why}");
            Exit::Environment
        })?;
        Ok(KubeconfigFile {
            path: folder.join("kubeconfig"),
            own: Some(lock),
        })
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        if self.own.is_some() {
            // The file may never have been written.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
