//! Whether a case can fail for each of its requirements: a defect violates the requirement, and the case detects that defect.
//!
//! A file with a table or axes lists its requirements once for all its cases; it suffices if one of them can fail.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use suites::harness::scenario::Level;

use super::scope::Subject;
use suites::Defect;

/// Number of (case, requirement) pairs, and for how many of them the case detected a defect that violates the requirement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Broken {
    /// All pairs.
    pub named: usize,
    /// Pairs with a detected violation.
    pub broken: usize,
    /// Pairs of core cases without one.
    pub unbroken_core: usize,
    /// The same by file.
    #[serde(default)]
    pub files: BrokenFiles,
}

/// The same, with one pair per file and requirement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokenFiles {
    /// All pairs.
    pub named: usize,
    /// Pairs in which one of the file's cases detected a violation.
    pub broken: usize,
    /// The other pairs, by file.
    pub unbroken: Vec<Unbroken>,
}

/// A requirement of a file for which none of its cases detected a violation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unbroken {
    /// Path of the file, relative to the folder of cases.
    pub file: String,
    /// Id of the requirement.
    pub requirement: String,
    /// Whether one of the cases is core.
    pub core: bool,
}

/// State of a requirement in the cases of one file.
#[derive(Default)]
struct InFile {
    core: bool,
    broken: bool,
}

impl Broken {
    /// Counts cases, each with its requirements without a detected violation.
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

    /// Counts a case with this number of requirements without a detected violation.
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

    /// The pairs of core cases without a detected violation.
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

/// The requirements of a case that none of the detected defects violates.
pub(super) fn unbroken(case: &Subject, caught: &[&Defect]) -> Vec<String> {
    let is_open = |id: &&String| !caught.iter().any(|defect| defect.violates.contains(*id));
    case.requirements.iter().filter(is_open).cloned().collect()
}
