//! Which volume is at which path, and the empty file or folder that stands for it there. Nothing is mounted, and nothing is touched that
//! was not made here.

use std::{collections::BTreeMap, fs, io, path::Path};

use tonic::Status;

use crate::volumes::Usage;

/// So many paths can be in use at once.
const TARGETS_MAX: usize = 10_000;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) volume: String,
    pub(crate) usage: Usage,
    pub(crate) readonly: bool,
}

/// All paths in use, by text.
#[derive(Debug, Default)]
pub(crate) struct Published {
    by_path: BTreeMap<String, Target>,
    /// Whether a file or folder is made at each path.
    makes_targets: bool,
}

impl Published {
    /// No path in use. Without `makes_targets`, paths are only remembered.
    pub(crate) fn new(makes_targets: bool) -> Published {
        let by_path = BTreeMap::new();
        Published {
            by_path,
            makes_targets,
        }
    }

    /// Whether a volume is in use at some path.
    pub(crate) fn holds(&self, volume: &str) -> bool {
        self.by_path.values().any(|target| target.volume == volume)
    }

    /// Makes the path for a volume, if it is not there already in the same way.
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

    /// Removes the path, if the volume is there.
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
        // Some callers make the folder themselves. An empty one is as good as ours.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_empty_folder(path) => Ok(()),
        made => made,
    }
}

fn is_empty_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
        && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Both ways fail on what is not ours: a folder with content, or something of the other kind.
fn remove(path: &Path, block: bool) -> io::Result<()> {
    if block {
        return fs::remove_file(path);
    }
    fs::remove_dir(path)
}
