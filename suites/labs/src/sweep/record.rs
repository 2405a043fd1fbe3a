//! Results of sweeps as data, from which the grid, the HTML page and the exit code are created, possibly on another host.

use serde::{Deserialize, Serialize};

use super::{Cell, CellResult, SweepError};

/// The result of sweeping a case, or the reason for leaving the case out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweptCase {
    /// Number of the case among all cases of the sweep, over all shards.
    pub number: usize,
    /// Id of the case.
    pub id: String,
    /// Duration of the sweep in seconds.
    pub seconds: f64,
    /// The result.
    pub outcome: SweepOutcome,
}

/// Result of sweeping one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SweepOutcome {
    /// The cells with their results, by point.
    Cells(Vec<CellRecord>),
    /// The case is left out for this reason.
    LeftOut(String),
    /// The case fails without a fault, with this failure text.
    Fails(String),
    /// The case could not be run, for this reason.
    Broken(String),
}

/// A cell with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Name of the cell on the command line.
    pub name: String,
    /// Name of the point.
    pub point: String,
    /// Name of the group of points that differ from the cell's point only in their numbers.
    pub like: String,
    /// Name of the fault.
    pub fault: String,
    /// The result of running the cell.
    pub held: CellResult,
    /// The case file of a failed cell.
    pub text: Option<String>,
}

impl CellRecord {
    /// Creates the record of a cell. Contains the case file only if the cell failed.
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

impl From<SweepError> for SweepOutcome {
    /// A case that the specification does not model, that is skipped, or that is known to fail is left out, which does not count as a
    /// failure.
    fn from(error: SweepError) -> Self {
        let why = error.to_string();
        match error {
            SweepError::Case(_) | SweepError::Known(_) | SweepError::Skipped(_) => SweepOutcome::LeftOut(why),
            SweepError::Start(_) => SweepOutcome::Broken(why),
            SweepError::Fails { .. } => SweepOutcome::Fails(why),
        }
    }
}
