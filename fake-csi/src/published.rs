//! Owns which volume is published at which path, and the empty file or folder that represents it. Mounts nothing, and touches no file that
//! it did not create.

use std::{collections::BTreeMap, fs, io, path::Path};

use tonic::Status;

use crate::volumes::Usage;

/// Maximum number of published paths.
const TARGETS_MAX: usize = 10_000;

/// A published volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) volume: String,
    pub(crate) usage: Usage,
    pub(crate) readonly: bool,
}

/// Published volumes by path.
#[derive(Debug, Default)]
pub(crate) struct Published {
    by_path: BTreeMap<String, Target>,
    /// Whether to create a file or folder at each path.
    makes_targets: bool,
}

impl Published {
    /// Without `makes_targets`, paths are only recorded.
    pub(crate) fn new(makes_targets: bool) -> Published {
        let by_path = BTreeMap::new();
        Published {
            by_path,
            makes_targets,
        }
    }

    /// Whether a volume is published at any path.
    pub(crate) fn holds(&self, volume: &str) -> bool {
        self.by_path.values().any(|target| target.volume == volume)
    }

    /// Publishes a volume at a path; does nothing if it is already published there in the same way.
    pub(crate) fn publish(&mut self, path: &str, wanted: Target) -> Result<(), Status> {
        if let Some(present) = self.by_path.get(path) {
            if *present == wanted {
                return Ok(());
            }
            return Err(Status::already_exists(format!(
                "{path:?} is in use for volume {:?} in another way; unpublish that first",
                present.volume
            )));
        }
        if self.by_path.len() >= TARGETS_MAX {
            return Err(Status::resource_exhausted(format!(
                "{TARGETS_MAX} paths are the most; unpublish some"
            )));
        }
        if !Path::new(path).is_absolute() {
            return Err(Status::invalid_argument(format!(
                "target_path {path:?} is not absolute; start it with a slash"
            )));
        }
        let made = match self.makes_targets {
            true => make(Path::new(path), wanted.usage.block),
            false => Ok(()),
        };
        made.map_err(|error| {
            Status::internal(format!(
                "{path:?} cannot be made: {error}; make its parent, and leave itself to the driver"
            ))
        })?;
        self.by_path.insert(path.to_owned(), wanted);
        Ok(())
    }

    /// Removes the path, if the volume is published there.
    pub(crate) fn unpublish(&mut self, path: &str, volume: &str) -> Result<(), Status> {
        let Some(target) = self.by_path.get(path).filter(|target| target.volume == volume) else {
            return Ok(());
        };
        let removed = match self.makes_targets {
            true => remove(Path::new(path), target.usage.block),
            false => Ok(()),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Status::internal(format!(
                "{path:?} cannot be removed: {error}; empty it"
            ))),
            _ => {
                self.by_path.remove(path);
                Ok(())
            }
        }
    }
}

fn make(path: &Path, block: bool) -> io::Result<()> {
    if block {
        return fs::File::create_new(path).map(drop);
    }
    match fs::create_dir(path) {
        // Some clients create the folder themselves; an empty one is accepted.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_empty_folder(path) => Ok(()),
        made => made,
    }
}

fn is_empty_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
        && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Both calls fail on foreign content: a folder with files, or a path of the other type.
fn remove(path: &Path, block: bool) -> io::Result<()> {
    if block {
        return fs::remove_file(path);
    }
    fs::remove_dir(path)
}
