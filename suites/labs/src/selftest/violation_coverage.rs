//! Whether the cases can fail for each of their requirements: a defect must violate the requirement, and the case must detect the defect.
//!
//! All cases of a file with a table or axes share one list of requirements, so a detection by one of these cases is sufficient.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use suites::harness::scenario::Level;

use super::scope::CaseSummary;
use suites::Defect;

/// Number of (case, requirement) pairs, and number of pairs in which the case detected a defect that violates the requirement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViolationCoverage {
    /// Number of all (case, requirement) pairs.
    pub named: usize,
    /// Number of pairs in which the case detected a violation of the requirement.
    pub broken: usize,
    /// Number of pairs of core cases without a detected violation.
    pub unbroken_core: usize,
    /// The counts by case file.
    #[serde(default)]
    pub files: FileViolationCoverage,
}

/// Number of (file, requirement) pairs, and number of pairs in which a case of the file detected a violation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileViolationCoverage {
    /// Number of all (file, requirement) pairs.
    pub named: usize,
    /// Number of pairs in which one of the file's cases detected a violation of the requirement.
    pub broken: usize,
    /// The (file, requirement) pairs without a detected violation.
    pub unbroken: Vec<UnviolatedRequirement>,
}

/// A requirement of a case file whose violation no case of the file detected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnviolatedRequirement {
    /// Path of the case file, relative to the folder of cases.
    pub file: String,
    /// Id of the requirement.
    pub requirement: String,
    /// Whether at least one core case of the file verifies the requirement.
    pub core: bool,
}

/// Whether a core case of the file verifies the requirement (`core`), and whether a case of the file detected a defect that violates it
/// (`broken`).
#[derive(Default)]
struct RequirementState {
    core: bool,
    broken: bool,
}

impl ViolationCoverage {
    /// Counts the requirements of all cases. `cases`: each case, with its requirements that no defect detected by the case violates.
    pub(super) fn of<'a>(cases: impl IntoIterator<Item = (&'a CaseSummary, &'a [String])>) -> Self {
        let mut counted = ViolationCoverage::default();
        let mut in_files: BTreeMap<(&str, &str), RequirementState> = BTreeMap::new();
        for (case, unbroken) in cases {
            counted.add(case, unbroken.len());
            for id in &case.requirements {
                let found = in_files.entry((&case.file, id)).or_default();
                found.core |= case.level == Level::Core;
                found.broken |= !unbroken.contains(id);
            }
        }
        counted.files = FileViolationCoverage::of(&in_files);
        counted
    }

    /// Adds the requirements of a case to the counts. `unbroken`: how many of them are not violated by any defect that the case detected.
    fn add(&mut self, case: &CaseSummary, unbroken: usize) {
        self.named += case.requirements.len();
        self.broken += case.requirements.len() - unbroken;
        if case.level == Level::Core {
            self.unbroken_core += unbroken;
        }
    }
}

impl FileViolationCoverage {
    fn of(in_files: &BTreeMap<(&str, &str), RequirementState>) -> Self {
        let open = in_files.iter().filter(|(_, found)| !found.broken);
        let unbroken: Vec<UnviolatedRequirement> = open
            .map(|((file, requirement), found)| UnviolatedRequirement {
                file: (*file).to_owned(),
                requirement: (*requirement).to_owned(),
                core: found.core,
            })
            .collect();
        FileViolationCoverage {
            named: in_files.len(),
            broken: in_files.len() - unbroken.len(),
            unbroken,
        }
    }

    /// The requirements of core cases that no defect detected by the cases of the same file violates.
    pub fn unbroken_core(&self) -> impl Iterator<Item = &UnviolatedRequirement> {
        self.unbroken.iter().filter(|unbroken| unbroken.core)
    }
}

impl fmt::Display for FileViolationCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} requirements of case files have a violation that a case of the file detected; {} of the others belong to core cases",
            self.broken,
            self.named,
            self.unbroken_core().count()
        )
    }
}

pub(super) fn unviolated_requirements(case: &CaseSummary, caught: &[&Defect]) -> Vec<String> {
    let is_open = |id: &&String| !caught.iter().any(|defect| defect.violates.contains(*id));
    case.requirements.iter().filter(is_open).cloned().collect()
}
