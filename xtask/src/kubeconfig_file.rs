//! Where the kubeconfig of a cluster goes that is served: the file that is named, or one that no other cluster has.
//!
//! Does not know what stands in it.

use std::path::{Path, PathBuf};

use crate::keep::{Lock, first_free};
use crate::out::eprintln;
use crate::{Exit, places};

/// Among the places.
const PLACE: &str = "up";

/// The file.
pub(crate) struct KubeconfigFile {
    pub(crate) path: PathBuf,
    /// None: the user has named it, and may want to keep it. In a place of our own nobody needs it when the cluster has ended.
    own: Option<Lock>,
}

impl KubeconfigFile {
    /// The file that is named, or one in a place that is free. The error is reported already.
    pub(crate) fn of(named: Option<&Path>) -> Result<Self, Exit> {
        if let Some(path) = named {
            places::prepare(path)?;
            let path = path.to_owned();
            return Ok(KubeconfigFile { path, own: None });
        }
        places::prepare(&places::of(PLACE))?;
        let free = first_free(PLACE).and_then(|free| {
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
            // It may never have been written.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
