//! What sweeps came to, as data: the grid, its page and the exit code are made of this, here or on another machine.

use serde::{Deserialize, Serialize};

use super::{Cell, Held, SweepError};

/// One case, swept or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweptCase {
    /// Its number among the cases of the whole run.
    pub number: usize,
    /// Its id.
    pub id: String,
    /// How long it took.
    pub seconds: f64,
    /// What it came to.
    pub outcome: Swept,
}

/// What a sweep came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Swept {
    /// Its cells, point by point.
    Cells(Vec<CellRecord>),
    /// It is none that can be swept, for this reason.
    LeftOut(String),
    /// It fails without a fault.
    Fails(String),
    /// It could not be run.
    Broken(String),
}

/// A cell that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRecord {
    /// What it is called on the command line.
    pub name: String,
    /// Where.
    pub point: String,
    /// The points like it.
    pub like: String,
    /// What happened there.
    pub fault: String,
    /// How it ended.
    pub held: Held,
    /// The case as a file, of a cell that failed.
    pub text: Option<String>,
}

impl CellRecord {
    /// Of a cell that has ended so.
    pub fn new(cell: &Cell, held: Held) -> Self {
        let has_failed = matches!(held, Held::Failed { .. });
        CellRecord {
            name: cell.name(),
            point: cell.point.to_string(),
            like: cell.point.like(),
            fault: cell.fault.name.to_owned(),
            text: has_failed.then(|| cell.text.clone()),
            held,
        }
    }
}

impl From<SweepError> for Swept {
    /// A case of which the specification says nothing is none that can be swept, nor one that the manifest leaves out; that is no failure.
    fn from(error: SweepError) -> Self {
        let why = error.to_string();
        match error {
            SweepError::Case(_) | SweepError::Known(_) | SweepError::Skipped(_) => Swept::LeftOut(why),
            SweepError::Start(_) => Swept::Broken(why),
            SweepError::Fails { .. } => Swept::Fails(why),
        }
    }
}
