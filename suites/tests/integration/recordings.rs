//! Loads recordings: those in this repository, and those in a folder given by an environment variable.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// Loads all recordings with this file name, in `fixtures/<folder>` and in the folder given by the variable. Fails if no recording exists.
pub(crate) fn read<T: DeserializeOwned>(folder: &str, variable: &str, file: &str) -> Vec<(PathBuf, T)> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut folders = vec![ours.join(folder)];
    folders.extend(std::env::var_os(variable).map(PathBuf::from));
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == file) {
                let text = std::fs::read_to_string(&path).unwrap();
                let read = serde_json::from_str(&text);
                found.push((
                    path.clone(),
                    read.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
                ));
            }
        }
    }
    assert!(!found.is_empty(), "there is no {file}");
    found
}
