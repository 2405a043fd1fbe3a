//! The case files and manifests of this project: read from the current checkout, or built into the program.

use std::sync::OnceLock;

use harness::invocation::{cases_of, checkout};
use harness::scenario::CaseFiles;

/// File texts by id or name.
type Texts = &'static [(&'static str, &'static str)];

/// Case files and manifests that are built into a program.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltInFiles {
    /// Case files by case id.
    pub cases: Texts,
    /// Manifests of well-known programs by name.
    pub manifests: Texts,
}

static BUILT_IN: OnceLock<BuiltInFiles> = OnceLock::new();

/// Registers the built-in files of this program.
pub fn register_built_in_files(files: BuiltInFiles) {
    // `set` fails only at a second call, but each program registers its files once, at start.
    let _ = BUILT_IN.set(files);
}

/// The cases of this project. In a checkout, the files are read from disk at each call, with paths relative to the current directory.
pub fn case_files() -> CaseFiles {
    let Some(checkout) = checkout() else {
        return CaseFiles::Embedded(built_in().cases);
    };
    let folder = cases_of(checkout);
    let here = std::env::current_dir().unwrap_or_default();
    CaseFiles::Folder(match folder.strip_prefix(here) {
        Ok(short) => short.to_owned(),
        Err(_) => folder,
    })
}

/// Name and text of each built-in manifest.
pub fn built_in_manifests() -> impl Iterator<Item = (&'static str, &'static str)> {
    built_in().manifests.iter().copied()
}

fn built_in() -> BuiltInFiles {
    BUILT_IN.get().copied().unwrap_or_default()
}
