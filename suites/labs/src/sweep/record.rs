//! Results of sweeps as data, from which the grid, the page and the exit code are created, possibly on another machine.

use serde::{Deserialize, Serialize};

use super::{Cell, CellResult, SweepError};

/// The result of sweeping a case, or the reason for leaving it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweptCase {
    /// Number of the case in the whole run.
    pub number: usize,
    /// Id of the case.
    pub id: String,
    /// Duration in seconds.
    pub seconds: f64,
    /// The result.
    pub outcome: Swept,
}

/// Result of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Swept {
    /// The cells, by point.
    Cells(Vec<CellRecord>),
    /// The case cannot be swept, for this reason.
    LeftOut(String),
    /// The case fails without a fault.
    Fails(String),
    /// The case could not be run.
    Broken(String),
}

/// A cell with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Name of the cell on the command line.
    pub name: String,
    /// Name of the point.
    pub point: String,
    /// Name of the group of points that differ only in their numbers.
    pub like: String,
    /// Name of the fault.
    pub fault: String,
    /// The result of running the cell.
    pub held: CellResult,
    /// The case file of a failed cell.
    pub text: Option<String>,
}

impl CellRecord {
    /// The record of a cell with this result. Contains the case file only if the cell failed.
    pub fn new(cell: &Cell, held: CellResult) -> Self {
        let has_failed = matches!(held, CellResult::Failed { .. });
        CellRecord {
            name: cell.name(),
            point: cell.point.to_string(),
            like: cell.point.group(),
            fault: cell.fault.name.to_owned(),
            text: has_failed.then(|| cell.text.clone()),
            held,
        }
    }
}

impl From<SweepError> for Swept {
    /// A case that the specification does not model, that is skipped, or that is known to fail is left out, which does not count as a
    /// failure.
    fn from(error: SweepError) -> Self {
        let why = error.to_string();
        match error {
            SweepError::Case(_) | SweepError::Known(_) | SweepError::Skipped(_) => Swept::LeftOut(why),
            SweepError::Start(_) => Swept::Broken(why),
            SweepError::Fails { .. } => Swept::Fails(why),
        }
    }
}
