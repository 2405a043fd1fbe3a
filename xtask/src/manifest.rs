//! Reads the manifest of programs under test for a command, and says what reports call them.

use std::path::Path;

use suites::harness::manifest::{Manifest, ManifestError};
use suites::report::SystemRecord;
use suites::{cases_folder, check_known};

use crate::Exit;
use crate::out::eprintln;

/// Reads a manifest; the error is reported already.
pub(crate) fn manifest(path: &Path) -> Result<Manifest, Exit> {
    Manifest::load(path).map_err(|error| {
        eprintln!("error: {error}");
        match error {
            ManifestError::Program { .. } => Exit::Environment,
            ManifestError::File(_) | ManifestError::Unreadable { .. } => Exit::Usage,
        }
    })
}

/// What reports say of the programs of a manifest.
pub(crate) fn record(manifest: &Manifest) -> SystemRecord {
    SystemRecord {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        roles: manifest.roles().map(|role| role.as_str().to_owned()).collect(),
        features: manifest.features.clone(),
    }
}

/// Reads a manifest that is held against all cases of a folder; the error is reported already.
pub(crate) fn manifest_for(path: &Path, folder: &Path) -> Result<Manifest, Exit> {
    let manifest = manifest(path)?;
    let own = cases_folder();
    // A manifest may serve for cases of its owner's beside those of this repository.
    let folders = if folder == own {
        vec![folder]
    } else {
        vec![folder, &*own]
    };
    check_known(&manifest, &folders).map_err(|error| {
        eprintln!("error: {error}");
        Exit::Usage
    })?;
    Ok(manifest)
}
