//! Owns which volume is published at which path, and the empty file or folder that represents the volume. Mounts nothing, and changes no
//! files in the folder.

use std::{collections::BTreeMap, fs, io, path::Path};

use tonic::Status;

use crate::volumes::Capability;

const TARGETS_MAX: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublishedVolume {
    pub(crate) volume: String,
    pub(crate) capability: Capability,
    pub(crate) readonly: bool,
}

/// Published volumes by path.
#[derive(Debug, Default)]
pub(crate) struct PublishedVolumes {
    by_path: BTreeMap<String, PublishedVolume>,
    /// Whether publishing a volume creates a file or folder at the target path.
    creates_target_paths: bool,
}

impl PublishedVolumes {
    /// Creates the store without published volumes. Without `creates_target_paths`, paths are recorded but not created.
    pub(crate) fn new(creates_target_paths: bool) -> PublishedVolumes {
        PublishedVolumes {
            by_path: BTreeMap::new(),
            creates_target_paths,
        }
    }

    pub(crate) fn is_published(&self, volume: &str) -> bool {
        self.by_path.values().any(|target| target.volume == volume)
    }

    /// Publishes a volume at a path. Does nothing if the volume is already published at the path with the same settings.
    pub(crate) fn publish(&mut self, path: &str, target: PublishedVolume) -> Result<(), Status> {
        if let Some(present) = self.by_path.get(path) {
            if *present == target {
                return Ok(());
            }
            return Err(Status::already_exists(format!(
                "{path:?} is published for volume {:?} with other settings; unpublish that volume first",
                present.volume
            )));
        }
        if self.by_path.len() >= TARGETS_MAX {
            return Err(Status::resource_exhausted(format!(
                "the maximum of {TARGETS_MAX} published paths is reached; unpublish some volumes"
            )));
        }
        if !Path::new(path).is_absolute() {
            return Err(Status::invalid_argument(format!(
                "target_path {path:?} is not absolute; start it with a slash"
            )));
        }
        let created = match self.creates_target_paths {
            true => create_target(Path::new(path), target.capability.block),
            false => Ok(()),
        };
        created.map_err(|error| {
            Status::internal(format!(
                "{path:?} cannot be created: {error}; create the parent folder, but not the path itself"
            ))
        })?;
        self.by_path.insert(path.to_owned(), target);
        Ok(())
    }

    /// Unpublishes a volume and removes its file or folder. Does nothing if the volume is not published at the path.
    pub(crate) fn unpublish(&mut self, path: &str, volume: &str) -> Result<(), Status> {
        let Some(target) = self.by_path.get(path).filter(|target| target.volume == volume) else {
            return Ok(());
        };
        let removed = match self.creates_target_paths {
            true => remove_target(Path::new(path), target.capability.block),
            false => Ok(()),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Status::internal(format!(
                "{path:?} cannot be removed: {error}; remove files of other programs from the folder"
            ))),
            _ => {
                self.by_path.remove(path);
                Ok(())
            }
        }
    }
}

fn create_target(path: &Path, block: bool) -> io::Result<()> {
    if block {
        return fs::File::create_new(path).map(drop);
    }
    match fs::create_dir(path) {
        // Some clients create the target folder before the call; an empty folder is accepted.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_empty_folder(path) => Ok(()),
        created => created,
    }
}

fn is_empty_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
        && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Removes an empty folder or, if `block`, a file. Fails if the folder is not empty, or if the path is of the wrong type.
fn remove_target(path: &Path, block: bool) -> io::Result<()> {
    if block {
        return fs::remove_file(path);
    }
    fs::remove_dir(path)
}
