//! A sweep: one case again and again, each time with one fault at another point of what the systems under test do. What must hold
//! afterwards is the specification's.
//!
//! ```text
//! point    every request, delivery and call of a run       fault    what can happen at each kind of point
//! case     the case with a fault in it, as a case file      record   what it came to, as data
//! page     the grid as HTML
//! ```
//!
//! Knows no system: whoever calls says which ones run, and how.

mod case;
mod fault;
mod page;
mod point;
mod record;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use suites::harness::journal::Fact;
use suites::harness::judge::Verdict;
use suites::harness::manifest::{KnownFailure, Manifest};
use suites::harness::plan::Plan;
use suites::harness::scenario::{Role, Scenario, ScenarioError};
use suites::harness::system::Systems;
use suites::harness::{Outcome, RunOptions, StartError};

use suites::{Knowledge, Said, explain_failure, generated, look_up};

use crate::spread::spread;
pub use case::Document;
pub use fault::{FAULTS, Fault};
pub use page::page;
pub use point::{Kind, Point, points};
pub use record::{CellRecord, Swept, SweptCase};

/// One point with one fault.
#[derive(Clone)]
pub struct Cell {
    /// The case, by its id.
    pub case: String,
    /// Where.
    pub point: Point,
    /// What.
    pub fault: &'static Fault,
    /// The case as a file.
    pub text: String,
    plan: Arc<Plan>,
}

/// How a cell ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Held {
    /// The specification holds.
    Held,
    /// It does not.
    Failed {
        /// The words that name the failure.
        said: String,
        /// The whole text.
        text: String,
    },
    /// It does not, as this entry of the manifest knows.
    Known(String),
    /// The run took another way: it never came to the point, or the case's own steps did not find what they change.
    Unmet,
    /// The machine was too busy to decide.
    Undecided,
    /// The case could not be run.
    Broken(String),
    /// A part of the harness panicked.
    Internal(String),
}

/// Why a case can't be swept.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// It does something of which the specification knows nothing.
    #[error(transparent)]
    Case(#[from] ScenarioError),
    /// It could not be run.
    #[error(transparent)]
    Start(#[from] StartError),
    /// What the specification demands does not even hold without a fault.
    #[error("{case} fails without any fault: {said}; mend that first")]
    Fails {
        /// Its id.
        case: String,
        /// The words that name the failure.
        said: String,
    },
    /// It fails without a fault too, and that is known.
    #[error("it fails without any fault, as {0} knows")]
    Known(String),
    /// It is not for these systems.
    #[error("{0}")]
    Skipped(String),
}

/// A case, and the systems that it is swept with.
#[derive(Clone)]
pub struct Sweep {
    /// The systems under test.
    pub systems: Systems,
    /// How each run is made.
    pub options: RunOptions,
    /// Runs at the same time.
    pub jobs: usize,
    /// How a cell is run alone; its name is added to it.
    pub rerun: String,
    /// Where the systems come from, if they are not built in: decides what is skipped and which failures are known.
    pub manifest: Option<Manifest>,
}

impl Sweep {
    /// Runs the case once, and returns its cells, point by point. `roles`: whose requests and calls are points.
    pub async fn cells(&self, scenario: &Scenario, roles: &[Role]) -> Result<Vec<Cell>, SweepError> {
        let document = Document::of(scenario)?;
        let plan = self.plan(&document.without_fault()?)?;
        if let Some(why) = self.manifest.as_ref().and_then(|manifest| manifest.skips(&plan)) {
            return Err(SweepError::Skipped(why));
        }
        let outcome = suites::harness::run(Arc::clone(&plan), &self.systems, self.options.clone()).await?;
        if let Some(failure) = outcome.verdict.failure() {
            let said = Said::by(failure);
            return Err(match self.known(&scenario.id, plan.id(), &said) {
                Some(known) => SweepError::Known(known.place.clone()),
                None => SweepError::Fails {
                    case: scenario.id.clone(),
                    said: said.in_short(),
                },
            });
        }
        let all = points(&outcome.journal.since(0));
        let meant = all.into_iter().filter(|point| roles.contains(&point.role));
        let cells = meant.flat_map(|point| {
            let fitting: Vec<_> = FAULTS.iter().filter(|fault| fault.fits(&point)).collect();
            fitting.into_iter().map(move |fault| (point.clone(), fault))
        });
        let skips = |plan: &Plan| self.manifest.as_ref().and_then(|manifest| manifest.skips(plan));
        // What no real server would do is refused as in any case file, and what the program need not bear is no cell of its.
        Ok(cells
            .filter_map(|(point, fault)| {
                let text = document.with(&point, fault).ok()?;
                let plan = self.plan(&text).ok().filter(|plan| skips(plan).is_none())?;
                Some(Cell {
                    case: scenario.id.clone(),
                    point,
                    fault,
                    text,
                    plan,
                })
            })
            .collect())
    }

    fn plan(&self, text: &str) -> Result<Arc<Plan>, ScenarioError> {
        let plan = generated("sweep.yaml", text)?;
        // One that can't have the names of the driver under test is skipped, and stays as it is.
        let adapted = self
            .manifest
            .as_ref()
            .and_then(|manifest| manifest.adapt(&plan).ok());
        Ok(Arc::new(adapted.unwrap_or(plan)))
    }

    /// The entry that excuses a failure: one that names sweeps, or one that names the case.
    fn known(&self, case: &str, cell: &str, said: &Said) -> Option<&KnownFailure> {
        let manifest = self.manifest.as_ref()?;
        [cell, case]
            .into_iter()
            .find_map(|id| match look_up(manifest, id, said) {
                Knowledge::Excused(known) => Some(known),
                Knowledge::Not(_) => None,
            })
    }

    /// Runs the cells, and hands them to `each` as they end.
    pub async fn run(&self, cells: Vec<Cell>, mut each: impl FnMut(&Cell, &Held)) -> Vec<(Cell, Held)> {
        let sweep = Arc::new(self.clone());
        let hold = move |(number, cell): (usize, Cell)| {
            let sweep = sweep.clone();
            async move {
                let held = sweep.hold(&cell).await;
                (number, cell, held)
            }
        };
        let mut ended = spread(
            self.jobs,
            cells.into_iter().enumerate(),
            hold,
            |(_, cell, held)| each(cell, held),
        )
        .await;
        ended.sort_by_key(|(number, ..)| *number);
        ended.into_iter().map(|(_, cell, held)| (cell, held)).collect()
    }

    async fn hold(&self, cell: &Cell) -> Held {
        match suites::harness::run(Arc::clone(&cell.plan), &self.systems, self.options.clone()).await {
            Ok(outcome) => self.judged(cell, &outcome),
            // The program would have written it, if it had not been killed.
            Err(StartError::Refused { .. }) if cell.fault.kills => Held::Unmet,
            Err(error @ StartError::Panicked { .. }) => Held::Internal(error.to_string()),
            Err(error) => Held::Broken(error.to_string()),
        }
    }

    fn judged(&self, cell: &Cell, outcome: &Outcome) -> Held {
        let Some(failure) = outcome.verdict.failure() else {
            let facts: Vec<Fact> = outcome.journal.since(0);
            return match cell.point.is_met(&facts) {
                true => Held::Held,
                false => Held::Unmet,
            };
        };
        if matches!(outcome.verdict, Verdict::Inconclusive(_)) {
            return Held::Undecided;
        }
        let said = Said::by(failure);
        if let Some(known) = self.known(&cell.case, cell.plan.id(), &said) {
            return Held::Known(known.place.clone());
        }
        let rerun = format!("{} --cell={}", self.rerun, cell.name());
        Held::Failed {
            said: said.in_short(),
            text: explain_failure(&cell.plan, outcome, rerun, Vec::new()).unwrap_or_default(),
        }
    }
}

impl Cell {
    /// What it is called on the command line.
    pub fn name(&self) -> String {
        self.fault.at(&self.point)
    }
}
