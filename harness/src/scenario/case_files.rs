//! Where case files are: in a folder, or embedded in the executable. Does not know their content.

use std::path::{Path, PathBuf};

use super::ScenarioError;
use crate::invocation::program;
use crate::text::read_text_file;

/// A set of case files. The id of a case file is its path in the set, without extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseFiles {
    /// All case files in a folder and its subfolders.
    Folder(PathBuf),
    /// Case files embedded in the executable, as (id, text).
    Embedded(&'static [(&'static str, &'static str)]),
}

pub(super) struct CaseFile {
    pub(super) id: String,
    /// Name of the case file in messages.
    pub(super) source: String,
    /// The embedded text of the case file. None: the text is read from the file `source`.
    text: Option<&'static str>,
}

impl CaseFiles {
    /// All case files, sorted by path.
    pub(super) fn all(&self) -> Result<Vec<CaseFile>, ScenarioError> {
        match self {
            CaseFiles::Folder(root) => {
                let files = files_in(root)?;
                Ok(files.iter().map(|path| CaseFile::in_folder(root, path)).collect())
            }
            CaseFiles::Embedded(files) => Ok(files
                .iter()
                .map(|(id, text)| CaseFile::embedded(id, text))
                .collect()),
        }
    }

    /// The case file with this id. Reads no other case files.
    pub(super) fn find_by_id(&self, id: &str) -> Option<CaseFile> {
        match self {
            CaseFiles::Folder(root) => {
                let path = root.join(format!("{id}.yaml"));
                path.is_file().then(|| CaseFile::in_folder(root, &path))
            }
            CaseFiles::Embedded(files) => {
                let found = files.iter().find(|(known, _)| *known == id);
                found.map(|(id, text)| CaseFile::embedded(id, text))
            }
        }
    }
}

impl CaseFile {
    fn in_folder(root: &Path, path: &Path) -> Self {
        let id = path.strip_prefix(root).unwrap_or(path).with_extension("");
        CaseFile {
            id: id.display().to_string(),
            source: path.display().to_string(),
            text: None,
        }
    }

    fn embedded(id: &str, text: &'static str) -> Self {
        CaseFile {
            id: id.to_owned(),
            source: format!("built-in/{id}.yaml"),
            text: Some(text),
        }
    }

    pub(super) fn text(&self) -> Result<String, ScenarioError> {
        match self.text {
            Some(text) => Ok(text.to_owned()),
            None => text_in(Path::new(&self.source)),
        }
    }
}

pub(super) fn text_in(path: &Path) -> Result<String, ScenarioError> {
    read_text_file(path)
        .map_err(|error| ScenarioError::whole(path, format!("cannot be read: {error}; name a case file")))
}

fn files_in(root: &Path) -> Result<Vec<PathBuf>, ScenarioError> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable = |error| {
            ScenarioError::whole(
                &folder,
                format!(
                    "cannot be read: {error}; name a folder of case files; `{} repro FILE` runs a single file",
                    program()
                ),
            )
        };
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("yaml") => files.push(path),
                // A file with the extension `yml` is an error, because it would otherwise be ignored silently.
                Some("yml") => {
                    return Err(ScenarioError::whole(
                        &path,
                        "is not read as a case; case files end in .yaml",
                    ));
                }
                // Other files, such as documentation, are ignored.
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}
