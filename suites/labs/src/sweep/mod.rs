//! A sweep: runs one case many times, each time with one fault at another point of the programs' traffic. The specification
//! must hold after the fault.
//!
//! ```text
//! point    every request, watch event and call of a run    fault    the faults for each kind of point
//! case     the case with a fault in it, as a case file     record   the results as data
//! page     the grid as HTML
//! ```
//!
//! Does not know systems under test: the caller provides them.

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

use suites::{FailureText, KnownFailureMatch, explain_failure, match_known_failure, resolve_generated_case};

use crate::concurrently::run_concurrently;
pub use case::CaseTemplate;
pub use fault::{FAULTS, Fault};
pub use page::page;
pub use point::{Kind, Point, points};
pub use record::{CellRecord, SweepOutcome, SweptCase};

/// A fault at a point of a case: one cell in the grid of points and faults.
#[derive(Clone)]
pub struct Cell {
    /// Id of the case.
    pub case: String,
    /// The point at which the fault is injected.
    pub point: Point,
    /// The fault to inject.
    pub fault: &'static Fault,
    /// The text of the case file with the fault.
    pub text: String,
    plan: Arc<Plan>,
}

/// Result of running a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CellResult {
    /// After the fault, the programs conform to the specification.
    Held,
    /// The specification is violated, and no known failure excuses it.
    Failed {
        /// The failure in one line, to which patterns of known failures are compared.
        #[serde(rename = "said")]
        failure_text: String,
        /// The failure with its causal chain, as printed on a terminal.
        text: String,
    },
    /// The specification is violated, which the known failure at this position of the manifest excuses.
    Known(String),
    /// The fault was not injected: the run never reached the point, or an action of the case failed.
    Unmet,
    /// Inconclusive: the host was too busy.
    Undecided,
    /// The case could not be run.
    Broken(String),
    /// The harness panicked.
    Internal(String),
}

/// The reason that a case cannot be swept.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The case has an action that the specification does not model, or is invalid.
    #[error(transparent)]
    Case(#[from] ScenarioError),
    /// The case could not be run.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The specification is violated even without a fault.
    #[error("{case} fails without any fault: {failure_text}; fix this failure first")]
    Fails {
        /// Id of the case.
        case: String,
        /// The text of the failure.
        failure_text: String,
    },
    /// The case fails even without a fault. The known failure at this position of the manifest excuses the failure.
    #[error("the case fails without any fault, with the known failure at {0}")]
    Known(String),
    /// The case does not apply to the systems under test, for this reason.
    #[error("{0}")]
    Skipped(String),
}

/// Configuration of a sweep.
#[derive(Clone)]
pub struct Sweep {
    /// The systems under test.
    pub systems: Systems,
    /// Options of each run.
    pub options: RunOptions,
    /// Number of concurrent runs.
    pub jobs: usize,
    /// The command line that runs a single cell, without the name of the cell.
    pub rerun: String,
    /// Manifest of the systems, which determines skipped cases and known failures; `None` for built-in systems.
    pub manifest: Option<Manifest>,
}

impl Sweep {
    /// Runs the case once without a fault, and returns its cells in the order of their points. `roles`: the roles whose requests, events
    /// and calls are points.
    pub async fn cells(&self, scenario: &Scenario, roles: &[Role]) -> Result<Vec<Cell>, SweepError> {
        let document = CaseTemplate::of(scenario)?;
        let plan = self.plan(&document.without_fault()?)?;
        if let Some(why) = self
            .manifest
            .as_ref()
            .and_then(|manifest| manifest.skip_reason(&plan))
        {
            return Err(SweepError::Skipped(why));
        }
        let outcome = suites::harness::run(Arc::clone(&plan), &self.systems, self.options.clone()).await?;
        if let Some(failure) = outcome.verdict.failure() {
            let failure_text = FailureText::of(failure);
            return Err(match self.known_failure(&scenario.id, plan.id(), &failure_text) {
                Some(known) => SweepError::Known(known.position.clone()),
                None => SweepError::Fails {
                    case: scenario.id.clone(),
                    failure_text: failure_text.short_reason(),
                },
            });
        }
        let all = points(&outcome.journal.since(0));
        let under_test = all.into_iter().filter(|point| roles.contains(&point.role));
        let cells = under_test.flat_map(|point| {
            let fitting: Vec<_> = FAULTS.iter().filter(|fault| fault.fits(&point)).collect();
            fitting.into_iter().map(move |fault| (point.clone(), fault))
        });
        let skips = |plan: &Plan| {
            self.manifest
                .as_ref()
                .and_then(|manifest| manifest.skip_reason(plan))
        };
        // Leaves out faults that a case file may not contain, and faults that the program under test need not survive.
        Ok(cells
            .filter_map(|(point, fault)| {
                let text = document.with_fault(&point, fault).ok()?;
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
        let plan = resolve_generated_case("sweep.yaml", text)?;
        // A case that cannot be adapted to the driver under test is returned unchanged, and is skipped later.
        let adapted = self
            .manifest
            .as_ref()
            .and_then(|manifest| manifest.adapt(&plan).ok());
        Ok(Arc::new(adapted.unwrap_or(plan)))
    }

    /// The manifest entry that excuses a failure. An entry may name the cell or the whole case.
    fn known_failure(&self, case: &str, cell: &str, failure_text: &FailureText) -> Option<&KnownFailure> {
        let manifest = self.manifest.as_ref()?;
        [cell, case]
            .into_iter()
            .find_map(|id| match match_known_failure(manifest, id, failure_text) {
                KnownFailureMatch::Excused(known) => Some(known),
                KnownFailureMatch::NotExcused(_) => None,
            })
    }

    /// Runs the cells, and passes each result to `each` as soon as the run ends.
    pub async fn run(
        &self,
        cells: Vec<Cell>,
        mut each: impl FnMut(&Cell, &CellResult),
    ) -> Vec<(Cell, CellResult)> {
        let sweep = Arc::new(self.clone());
        let run_cell = move |(number, cell): (usize, Cell)| {
            let sweep = sweep.clone();
            async move {
                let held = sweep.run_cell(&cell).await;
                (number, cell, held)
            }
        };
        let mut ended = run_concurrently(
            self.jobs,
            cells.into_iter().enumerate(),
            run_cell,
            |(_, cell, held)| each(cell, held),
        )
        .await;
        ended.sort_by_key(|(number, ..)| *number);
        ended.into_iter().map(|(_, cell, held)| (cell, held)).collect()
    }

    async fn run_cell(&self, cell: &Cell) -> CellResult {
        match suites::harness::run(Arc::clone(&cell.plan), &self.systems, self.options.clone()).await {
            Ok(outcome) => self.cell_result(cell, &outcome),
            // An action of the case needs an object that the program would have written if it had not been killed.
            Err(StartError::Refused { .. }) if cell.fault.kills => CellResult::Unmet,
            Err(error @ StartError::Panicked { .. }) => CellResult::Internal(error.to_string()),
            Err(error) => CellResult::Broken(error.to_string()),
        }
    }

    fn cell_result(&self, cell: &Cell, outcome: &Outcome) -> CellResult {
        let Some(failure) = outcome.verdict.failure() else {
            let facts: Vec<Fact> = outcome.journal.since(0);
            return match cell.point.is_reached(&facts) {
                true => CellResult::Held,
                false => CellResult::Unmet,
            };
        };
        if matches!(outcome.verdict, Verdict::Inconclusive(_)) {
            return CellResult::Undecided;
        }
        let failure_text = FailureText::of(failure);
        if let Some(known) = self.known_failure(&cell.case, cell.plan.id(), &failure_text) {
            return CellResult::Known(known.position.clone());
        }
        let rerun = format!("{} --cell={}", self.rerun, cell.name());
        CellResult::Failed {
            failure_text: failure_text.short_reason(),
            text: explain_failure(&cell.plan, outcome, rerun, Vec::new()).unwrap_or_default(),
        }
    }
}

impl Cell {
    /// Name of the cell on the command line.
    pub fn name(&self) -> String {
        self.fault.cell_name(&self.point)
    }
}
