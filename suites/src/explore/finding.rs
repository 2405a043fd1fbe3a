//! Findings of exploration: the violation, the number of clusters that showed it, and the smallest history that reproduces it.

use std::path::PathBuf;

use harness::record;
use serde::{Deserialize, Serialize};

use super::focus::Focus;
use super::shrink::Shrunk;
use super::signature::Signature;
use super::text::ExcusedRules;
use crate::report::{CaseRecord, WriteError};

/// A finding.
#[derive(Debug)]
pub struct Finding {
    /// Identity of the violation.
    pub signature: Signature,
    /// Focus of the first cluster that showed it.
    pub focus: &'static Focus,
    /// Seed of that cluster.
    pub seed: u64,
    /// Number of clusters that showed it.
    pub clusters: u64,
    /// The smallest history that shows it.
    pub shrunk: Shrunk,
    /// Rules violated in earlier runs that hid it: its case excuses them.
    pub excused: ExcusedRules,
    /// The case of the finding; `None` without an output folder.
    pub written: Option<Written>,
}

/// A written finding.
#[derive(Debug)]
pub struct Written {
    /// The case file.
    pub file: PathBuf,
    /// Result of its last run, or of the original run if it was not repeated.
    pub record: CaseRecord,
    /// Whether the case reproduces the finding.
    pub repeated: Reproduced,
}

/// Whether the case of a finding reproduces it. A finding that depends on timing need not be reproducible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reproduced {
    /// The case fails with the same first missing link.
    Yes,
    /// The case passes.
    No,
    /// The case fails with this other violation, which is its title.
    Otherwise(String),
    /// The time limit ended before the case ran.
    Unknown,
}

/// A finding could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FindingError {
    /// The folder is not writable.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The stored run cannot be read.
    #[error(transparent)]
    Read(#[from] record::RecordError),
    /// The written text is no valid case: a bug of the generator.
    #[error("{0}")]
    Case(String),
}
