//! Matches the `knownFailures` entries of a manifest with failures: finds the entry that excuses a failure, and entries whose case does not
//! exist.
//!
//! Other modules parse the entries (`harness::manifest`) and detect stale entries (`report::known`).

use harness::invocation::program;
use harness::judge::{Finding, RULES};
use harness::manifest::{KnownFailure, Manifest};
use harness::plan::Plan;
use harness::scenario::{CaseFiles, ScenarioError, Strength};

use crate::explore::focus::{EXPLORED, FOCUSES};
use crate::failure_text::FailureText;
use crate::plans_named;
use crate::select::{hint, matches_id};

/// Prefix of the ids of sweep cells (a case with a fault at one point), which `knownFailures` entries can name.
const SWEPT: &str = "sweep";

/// Prefix by which entries name findings, as in `finding/csi-arguments`.
pub(crate) const FINDING: &str = "finding";

/// Whether an entry of the manifest excuses a failure.
pub enum KnownFailureMatch<'m> {
    /// This entry excuses the failure.
    Excused(&'m KnownFailure),
    /// No entry excuses the failure. Contains a text for each entry of the case: another failure that it excuses, or the expiry date.
    NotExcused(Vec<String>),
}

/// The entries that match a failure, including expired entries.
pub(crate) fn matching_entries<'m>(
    manifest: &'m Manifest,
    case: &str,
    failure_text: &FailureText,
) -> impl Iterator<Item = &'m KnownFailure> {
    let known = manifest.known_failures(case);
    known.filter(|known| failure_text.matches(&known.fails))
}

/// Looks up a failure in the `knownFailures` entries of a manifest.
pub fn match_known_failure<'m>(
    manifest: &'m Manifest,
    case: &str,
    failure_text: &FailureText,
) -> KnownFailureMatch<'m> {
    if let Some(known) = matching_entries(manifest, case, failure_text).find(|known| known.is_excused()) {
        return KnownFailureMatch::Excused(known);
    }
    let mismatches = manifest
        .known_failures(case)
        .map(|known| match failure_text.matches(&known.fails) {
            true => format!(
                "{} excused this failure until {}: {}",
                known.position, known.until, known.why
            ),
            false => format!(
                "{} excuses another failure of this case: “{}”",
                known.position, known.fails
            ),
        });
    KnownFailureMatch::NotExcused(mismatches.collect())
}

/// The manifest entry that excuses a finding.
pub fn excusing_entry<'m>(manifest: &'m Manifest, finding: &Finding) -> Option<&'m KnownFailure> {
    let failure_text = FailureText::of_finding(finding);
    match match_known_failure(manifest, &format!("{FINDING}/{}", finding.rule), &failure_text) {
        KnownFailureMatch::Excused(known) => Some(known),
        KnownFailureMatch::NotExcused(_) => None,
    }
}

/// Whether the name in an entry denotes all generated cases, or all generated cases of a focus.
fn names_generated_cases(name: &str) -> bool {
    let name = name.trim_end_matches('/');
    let mut areas = FOCUSES.iter().map(|focus| format!("{EXPLORED}/{focus}"));
    name == EXPLORED || areas.any(|area| area == name)
}

/// Whether the name in an entry denotes all sweep cells, or the sweep cells of some cases.
fn names_sweep_cells(name: &str, plans: &[Plan]) -> bool {
    match name.trim_end_matches('/').strip_prefix(SWEPT) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('/').is_some_and(|case| {
            plans
                .iter()
                .any(|plan| matches_id(case, plan.id()) || matches_id(plan.id(), case))
        }),
        None => false,
    }
}

/// Rejects a manifest with an entry for a case that does not exist in these files.
pub fn check_known(manifest: &Manifest, files: &[CaseFiles]) -> Result<(), ScenarioError> {
    let swept = |name| str::strip_prefix(name, SWEPT).and_then(|rest| rest.strip_prefix('/'));
    let names: Vec<&str> = manifest
        .known_cases()
        .map(|name| swept(name).unwrap_or(name))
        .collect();
    if names.is_empty() || check_against(manifest, &cases_named(files, &names)?).is_ok() {
        return Ok(());
    }
    // An entry names an unknown case. Read all cases, because the name may be a misspelling of any of them.
    check_against(manifest, &cases_named(files, &[])?)
}

fn cases_named(files: &[CaseFiles], names: &[&str]) -> Result<Vec<Plan>, ScenarioError> {
    let mut plans = Vec::new();
    for files in files {
        plans.extend(plans_named(files, Strength::default(), names)?);
    }
    Ok(plans)
}

fn check_against(manifest: &Manifest, plans: &[Plan]) -> Result<(), ScenarioError> {
    manifest.check_cases(|name| {
        if RULES.iter().any(|rule| name == format!("{FINDING}/{}", rule.name)) {
            return None;
        }
        if plans.iter().any(|plan| matches_id(name, plan.id()))
            || names_generated_cases(name)
            || names_sweep_cells(name, plans)
        {
            return None;
        }
        let hint = hint(name, plans);
        Some(format!(
            "no case is called `{name}`{hint}; correct the entry, or remove it (`{program} list` shows all cases)", program = program()))
    })
}
