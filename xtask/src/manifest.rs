//! Loads the manifest of programs under test for a command, and describes the programs for reports.

use std::path::Path;

use suites::harness::manifest::{Manifest, ManifestError};
use suites::harness::scenario::CaseFiles;
use suites::report::SystemRecord;
use suites::{built_in_manifests, case_files, check_known};

use crate::Exit;
use crate::out::eprintln;

/// Loads a manifest. Prints its own errors.
pub(crate) fn manifest(path: &Path) -> Result<Manifest, Exit> {
    load(path).map_err(|error| {
        eprintln!("error: {error}");
        if matches!(error, ManifestError::Unreadable { .. }) {
            let names: Vec<&str> = built_in_manifests().map(|(name, _)| name).collect();
            eprintln!("  these manifests are built in: {}", names.join(", "));
        }
        match error {
            ManifestError::Program { .. } => Exit::Environment,
            ManifestError::File(_) | ManifestError::Unreadable { .. } => Exit::Usage,
        }
    })
}

/// Loads a manifest from a file or, if there is no such file, the built-in manifest with that name.
fn load(path: &Path) -> Result<Manifest, ManifestError> {
    let mut carried = built_in_manifests().filter(|_| !path.exists());
    match carried.find(|(name, _)| path.as_os_str() == *name) {
        Some((_, text)) => Manifest::parse(path, text),
        None => Manifest::load(path),
    }
}

/// The programs of a manifest, as described in reports.
pub(crate) fn record(manifest: &Manifest) -> SystemRecord {
    SystemRecord {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        roles: manifest.roles().map(|role| role.as_str().to_owned()).collect(),
        features: manifest.features.clone(),
    }
}

/// Loads a manifest, and checks that the cases of its `knownFailures` entries exist in these files. Prints its own errors.
pub(crate) fn manifest_for(path: &Path, files: &CaseFiles) -> Result<Manifest, Exit> {
    let manifest = manifest(path)?;
    let own = case_files();
    // A `knownFailures` entry may name a case of the given folder or of this repository.
    let all = match *files == own {
        true => vec![own],
        false => vec![files.clone(), own],
    };
    check_known(&manifest, &all).map_err(|error| Exit::Usage.with_error(error))?;
    Ok(manifest)
}
