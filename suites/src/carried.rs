//! The cases and manifests of this project: those of the checkout in which cargo runs the program, or those that the program carries.

use std::sync::OnceLock;

use harness::invocation::{cases_of, checkout};
use harness::scenario::CaseFiles;

/// Files by id or name, each with its text.
type Texts = &'static [(&'static str, &'static str)];

/// Files that a program carries.
#[derive(Debug, Clone, Copy, Default)]
pub struct Carried {
    /// The cases, by id.
    pub cases: Texts,
    /// The manifests of well-known programs, by name.
    pub manifests: Texts,
}

static CARRIED: OnceLock<Carried> = OnceLock::new();

/// From now on, this program carries these files.
pub fn carry(files: Carried) {
    // A program says so once, before anything else.
    let _ = CARRIED.set(files);
}

/// The cases of this project. In a checkout they are read anew each time, and their paths are as short as they can be written from where
/// the user stands.
pub fn case_files() -> CaseFiles {
    let Some(checkout) = checkout() else {
        return CaseFiles::Carried(carried().cases);
    };
    let folder = cases_of(checkout);
    let here = std::env::current_dir().unwrap_or_default();
    CaseFiles::Folder(match folder.strip_prefix(here) {
        Ok(short) => short.to_owned(),
        Err(_) => folder,
    })
}

/// The manifests that the program carries: the name and the text of each.
pub fn carried_manifests() -> impl Iterator<Item = (&'static str, &'static str)> {
    carried().manifests.iter().copied()
}

fn carried() -> Carried {
    CARRIED.get().copied().unwrap_or_default()
}
