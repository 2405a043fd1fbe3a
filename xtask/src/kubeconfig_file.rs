//! Path of the kubeconfig of a served cluster: the path given by the user, or a path that no other served cluster uses.

use std::path::{Path, PathBuf};

use crate::run_folder::{Lock, first_unlocked};
use crate::{Exit, folders};

/// Name of the folder for kubeconfigs in the default output folder.
const FOLDER: &str = "up";

pub(crate) struct KubeconfigFile {
    pub(crate) path: PathBuf,
    /// Lock of a temporary kubeconfig, which is deleted when the cluster ends. `None` for a file that the user specified, which remains.
    own: Option<Lock>,
}

impl KubeconfigFile {
    /// The path given by the user, or a temporary path that no other served cluster uses. Prints its own errors.
    pub(crate) fn of(named: Option<&Path>) -> Result<Self, Exit> {
        if let Some(path) = named {
            folders::prepare(path)?;
            let path = path.to_owned();
            return Ok(KubeconfigFile { path, own: None });
        }
        folders::prepare(&folders::default_folder(FOLDER))?;
        let free = first_unlocked(FOLDER).and_then(|free| {
            free.ok_or_else(|| {
                "too many clusters are already served on this machine; stop one of them, or name a kubeconfig file with --kubeconfig"
                    .to_owned()
            })
        });
        let (folder, lock) = free.map_err(|why| Exit::Environment.with_error(why))?;
        Ok(KubeconfigFile {
            path: folder.join("kubeconfig"),
            own: Some(lock),
        })
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        if self.own.is_some() {
            // Removal fails if the file was never written.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
