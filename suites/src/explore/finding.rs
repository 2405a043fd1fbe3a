//! What exploration has found: what went wrong, in how many worlds, and the smallest history that shows it.

use std::path::PathBuf;

use harness::record;
use serde::{Deserialize, Serialize};

use super::focus::Focus;
use super::shrink::Shrunk;
use super::signature::Signature;
use super::text::Excused;
use crate::report::{CaseRecord, WriteError};

/// One thing that went wrong.
#[derive(Debug)]
pub struct Finding {
    /// What went wrong.
    pub signature: Signature,
    /// What the first world in which it did was drawn for.
    pub focus: &'static Focus,
    /// The seed of that world.
    pub seed: u64,
    /// In how many worlds it went wrong.
    pub worlds: u64,
    /// The smallest history that shows it.
    pub shrunk: Shrunk,
    /// The rules that hid it, as they were broken before: its case excuses them.
    pub excused: Excused,
    /// Its case; none: no folder was named.
    pub written: Option<Written>,
}

/// A finding that is written down.
#[derive(Debug)]
pub struct Written {
    /// The case.
    pub file: PathBuf,
    /// How its last run ended; where it was not run, that of the world.
    pub record: CaseRecord,
    /// Whether the case shows what was found.
    pub repeated: Repeated,
}

/// Whether the case of a finding shows it once more. What depends on chance need not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Repeated {
    /// Yes: it has the same first missing link.
    Yes,
    /// No, nothing goes wrong.
    No,
    /// No, this goes wrong, which is the title of the case.
    Otherwise(String),
    /// The time was up before that was known.
    Unknown,
}

/// A finding can't be written.
#[derive(Debug, thiserror::Error)]
pub enum FindingError {
    /// The folder can't be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The run can't be read back.
    #[error(transparent)]
    Read(#[from] record::RecordError),
    /// What was written is no case: a mistake of exploration.
    #[error("{0}")]
    Case(String),
}
