//! Whether a case that names a requirement can fail by it: some defect violates that requirement, and the case catches that defect.
//!
//! A file with a table or axes names its requirements once, for all its cases together: there one of them that can fail is enough.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use suites::harness::scenario::Level;

use super::scope::Subject;
use suites::Defect;

/// How many of the requirements that cases name were broken while they watched; each counts once for each case that names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Broken {
    /// All.
    pub named: usize,
    /// Those that were violated by a defect that the case caught.
    pub broken: usize,
    /// The others of core cases.
    pub unbroken_core: usize,
    /// The same by file.
    #[serde(default)]
    pub files: BrokenFiles,
}

/// The same, where each counts once for each file whose cases name it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokenFiles {
    /// All.
    pub named: usize,
    /// Those that were violated by a defect that one of the file's cases caught.
    pub broken: usize,
    /// The others, by file.
    pub unbroken: Vec<Unbroken>,
}

/// A requirement that a file names, and that no defect violates which one of its cases caught.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unbroken {
    /// The file, as far as its folder goes that was given.
    pub file: String,
    /// Id of the requirement.
    pub requirement: String,
    /// Whether one of the cases is core.
    pub core: bool,
}

/// What became of a requirement in the cases of one file.
#[derive(Default)]
struct InFile {
    core: bool,
    broken: bool,
}

impl Broken {
    /// Counts cases, each with those of its requirements that were not broken.
    pub(super) fn of<'a>(cases: impl IntoIterator<Item = (&'a Subject, &'a [String])>) -> Self {
        let mut counted = Broken::default();
        let mut in_files: BTreeMap<(&str, &str), InFile> = BTreeMap::new();
        for (case, unbroken) in cases {
            counted.add(case, unbroken.len());
            for id in &case.requirements {
                let found = in_files.entry((&case.file, id)).or_default();
                found.core |= case.level == Level::Core;
                found.broken |= !unbroken.contains(id);
            }
        }
        counted.files = BrokenFiles::of(&in_files);
        counted
    }

    /// Counts a case, of whose requirements so many were not broken.
    fn add(&mut self, case: &Subject, unbroken: usize) {
        self.named += case.requirements.len();
        self.broken += case.requirements.len() - unbroken;
        if case.level == Level::Core {
            self.unbroken_core += unbroken;
        }
    }
}

impl BrokenFiles {
    fn of(in_files: &BTreeMap<(&str, &str), InFile>) -> Self {
        let open = in_files.iter().filter(|(_, found)| !found.broken);
        let unbroken: Vec<Unbroken> = open
            .map(|((file, requirement), found)| Unbroken {
                file: (*file).to_owned(),
                requirement: (*requirement).to_owned(),
                core: found.core,
            })
            .collect();
        BrokenFiles {
            named: in_files.len(),
            broken: in_files.len() - unbroken.len(),
            unbroken,
        }
    }

    /// Those that were not broken though a core case names them.
    pub fn unbroken_core(&self) -> impl Iterator<Item = &Unbroken> {
        self.unbroken.iter().filter(|unbroken| unbroken.core)
    }
}

impl fmt::Display for BrokenFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} requirements that case files name were violated by a defect that one of the file's cases detected; \
             {} of the others are core",
            self.broken,
            self.named,
            self.unbroken_core().count()
        )
    }
}

/// The requirements of a case that none of the defects violates that it caught.
pub(super) fn unbroken(case: &Subject, caught: &[&Defect]) -> Vec<String> {
    let is_open = |id: &&String| !caught.iter().any(|defect| defect.violates.contains(*id));
    case.requirements.iter().filter(is_open).cloned().collect()
}
