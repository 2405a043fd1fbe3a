//! The conformance cases and their infrastructure: requirement catalogue, selection, concurrent runs, and the libtest front end.
//!
//! Does not know any system under test: the caller provides them.

mod built_in;
mod catalogue;
mod defects;
pub mod explore;
mod failure_text;
mod job_slots;
mod known;
mod libtest;
mod measure;
mod part;
mod recording;
pub mod report;
mod select;
mod session;
mod shell;
mod traceability;

pub use harness;
use harness::plan::{Plan, resolve};
use harness::scenario::{self, CaseFiles, Scenario, ScenarioError, Strength};
use select::matches_id;

pub use built_in::{BuiltInFiles, built_in_manifests, case_files, register_built_in_files};
pub use catalogue::{Catalogue, Document, Entry, Evidence, Source, TestName};
pub use defects::{Defect, Defects, ExecutedMutants};
pub use failure_text::FailureText;
pub use job_slots::JobSlots;
pub use known::{KnownFailureMatch, check_known, excusing_entry, match_known_failure};
pub use libtest::{libtest_main, libtest_main_of};
pub use measure::{Measured, measure};
pub use part::{CommandResult, Mergeable, PART, ShardFile};
pub use recording::{AddResult, RecordedRun, RecordedVerdict, Recording, RecordingError, VerdictKind};
pub use select::{SelectError, Selection, Shard};
pub use session::{CaseOutcome, CaseResult, Cause, Explanation, Session, explain_failure};
pub use shell::quoted;
pub use traceability::{EvidenceStatus, Traceability};

/// All cases of these files, resolved, in order of their ids.
pub fn plans(files: &CaseFiles) -> Result<Vec<Plan>, ScenarioError> {
    resolve_cases(&scenario::load_tree(files)?)
}

/// Resolves the cases that `names` may denote (all cases if empty), with this coverage strength for axes. Reads only the files of these
/// cases.
pub fn plans_named(
    files: &CaseFiles,
    strength: Strength,
    names: &[&str],
) -> Result<Vec<Plan>, ScenarioError> {
    let may_mean = |file: &str| {
        names
            .iter()
            .any(|name| matches_id(name, file) || matches_id(file, name))
    };
    let may_hold = |file: &str| names.is_empty() || may_mean(file);
    resolve_cases(&scenario::load_tree_where(files, strength, &may_hold)?)
}

/// Resolves these cases to plans. Fails if a case names a requirement that is not in the catalogue.
pub fn resolve_cases<'s>(
    scenarios: impl IntoIterator<Item = &'s Scenario>,
) -> Result<Vec<Plan>, ScenarioError> {
    let catalogue = Catalogue::load();
    let resolved = scenarios.into_iter().map(|scenario| {
        let mut plan = resolve(scenario)?;
        catalogue.check(scenario)?;
        catalogue.mark_beyond_documents(&mut plan);
        Ok(plan)
    });
    resolved.collect()
}

/// Resolves a case that this program generated. The requirements of the case are not checked.
pub fn resolve_generated_case(source: &str, text: &str) -> Result<Plan, ScenarioError> {
    resolve(&scenario::parse_plain(source, text)?)
}

/// The case with this id; `None` if there is none. Reads only the file of that case.
pub fn plan(files: &CaseFiles, id: &str) -> Result<Option<Plan>, ScenarioError> {
    Ok(resolve_cases(&scenario::load_case(files, id)?)?.pop())
}
