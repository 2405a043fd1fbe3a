//! Findings of exploration: the violation, the number of clusters with this violation, and the smallest history that reproduces the
//! finding.

use std::path::PathBuf;

use harness::record;
use serde::{Deserialize, Serialize};

use super::focus::Focus;
use super::shrink::Shrunk;
use super::signature::Signature;
use super::text::ExcusedRules;
use crate::report::{CaseRecord, WriteError};

/// A violation that exploration found, with the number of clusters that showed the violation.
#[derive(Debug)]
pub struct Finding {
    /// The violation without names and values of the cluster, by which equal findings are recognized.
    pub signature: Signature,
    /// Focus (set of running programs) of the first cluster that showed the finding.
    pub focus: &'static Focus,
    /// Seed of the first cluster that showed the finding.
    pub seed: u64,
    /// Number of clusters that showed the finding.
    pub clusters: u64,
    /// The smallest history found so far that shows the finding.
    pub shrunk: Shrunk,
    /// Rules whose violation hid this finding in earlier runs. The case of the finding excuses these rules.
    pub excused: ExcusedRules,
    /// The case of the finding; `None` without an output folder.
    pub written: Option<WrittenCase>,
}

/// The case that was written for a finding.
#[derive(Debug)]
pub struct WrittenCase {
    /// Path of the case file.
    pub file: PathBuf,
    /// Result of the last run of the case, or of the original run if the case was not run again.
    pub record: CaseRecord,
    /// Whether the case reproduces the finding.
    pub repeated: Reproduced,
}

/// Whether running the case reproduces the finding. A finding that depends on timing may not be reproducible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reproduced {
    /// The case fails with the same first missing link of the causal chain.
    Yes,
    /// The case was run again and passed.
    No,
    /// The case fails with a different violation. Contains that violation as text.
    Otherwise(String),
    /// The time limit expired before the case ran.
    Unknown,
}

/// Why a finding could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FindingError {
    /// The output folder is not writable.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The stored run cannot be read.
    #[error(transparent)]
    Read(#[from] record::RecordError),
    /// The written text is no valid case: a bug of the generator.
    #[error("{0}")]
    Case(String),
}
