//! Reads the manifest of programs under test for a command, and says what reports call them.

use std::path::Path;

use suites::harness::manifest::{Manifest, ManifestError};
use suites::harness::plan::Plan;
use suites::harness::scenario::ScenarioError;
use suites::report::SystemRecord;
use suites::{cases_folder, check_known, plans};

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
    let checked = catalogue(folder).and_then(|plans| check_known(&manifest, &plans));
    checked.map_err(|error| {
        eprintln!("error: {error}");
        Exit::Usage
    })?;
    Ok(manifest)
}

/// The cases that an entry may name: a manifest may serve for cases of its owner's beside those of this repository.
fn catalogue(folder: &Path) -> Result<Vec<Plan>, ScenarioError> {
    let mut all = plans(folder)?;
    let own = cases_folder();
    if folder != own {
        all.extend(plans(&own)?);
    }
    Ok(all)
}
