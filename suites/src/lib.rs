//! The conformance cases and what is around them: the requirement catalogue, selection, running many, and the libtest front end.
//!
//! Knows no system under test: those are handed in.

mod catalogue;
mod defects;
pub mod explore;
mod known;
mod libtest;
mod measure;
mod pairs;
pub mod report;
mod said;
mod select;
pub mod selftest;
mod session;
mod shell;
pub mod sweep;
mod traceability;
mod turns;

use std::path::{Path, PathBuf};

pub use harness;
use harness::plan::{Plan, resolve};
use harness::scenario::{self, Scenario, ScenarioError, Strength};
use select::is_meant;

pub use catalogue::{Catalogue, Document, Entry, Evidence, Source, TestName};
pub use defects::{Defect, Defects};
pub use known::check_known;
pub use libtest::libtest_main;
pub use measure::{Measured, measure};
pub use pairs::pairs;
pub use said::Said;
pub use select::{SelectError, Selection, Shard};
pub use session::{CaseResult, Cause, Ended, Explained, Session, explain_failure};
pub use shell::quoted;
pub use traceability::{Standing, Traceability};
pub use turns::Turns;

/// Where the cases of this repository are: as short as it can be written from where the user stands.
pub fn cases_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let here = std::env::current_dir().unwrap_or_default();
    folder.strip_prefix(here).map(Path::to_owned).unwrap_or(folder)
}

/// All cases below a folder, ready to run, in the order of their ids.
pub fn plans(folder: &Path) -> Result<Vec<Plan>, ScenarioError> {
    resolved(&scenario::load_tree(folder)?)
}

/// The cases that one of these names may mean, or all if there is none, with so many values of the axes of a case together; reads no other
/// files.
pub fn plans_named(folder: &Path, strength: Strength, names: &[&str]) -> Result<Vec<Plan>, ScenarioError> {
    let may_mean = |file: &str| {
        names
            .iter()
            .any(|name| is_meant(name, file) || is_meant(file, name))
    };
    let may_hold = |file: &str| names.is_empty() || may_mean(file);
    resolved(&scenario::load_tree_where(folder, strength, &may_hold)?)
}

/// These cases, ready to run; they may show only what the catalogue demands.
pub fn resolved<'s>(scenarios: impl IntoIterator<Item = &'s Scenario>) -> Result<Vec<Plan>, ScenarioError> {
    let catalogue = Catalogue::load();
    let resolved = scenarios.into_iter().map(|scenario| {
        let plan = resolve(scenario)?;
        catalogue.check(scenario)?;
        Ok(plan)
    });
    resolved.collect()
}

/// The case of a text that was made here. What it shows was checked where it comes from.
fn generated(source: &str, text: &str) -> Result<Plan, ScenarioError> {
    resolve(&scenario::parse_one(source, text)?)
}

/// One case by its id; reads no other file.
pub fn plan(folder: &Path, id: &str) -> Result<Option<Plan>, ScenarioError> {
    Ok(resolved(&scenario::load_row(folder, id)?)?.pop())
}
