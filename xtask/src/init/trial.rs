//! Tries a draft manifest: runs a basic case of the role, and a case for each feature that the program may have.

use std::path::Path;

use suites::harness::RunOptions;
use suites::harness::manifest::Manifest;
use suites::harness::plan::Plan;
use suites::harness::scenario::{Level, Role};
use suites::{CaseOutcome, Session, case_files};

use super::draft::Draft;
use crate::config_flags::BoxError;
use references::built_in;

pub(super) struct TrialResult {
    pub(super) case: String,
    /// The feature that the case verifies; `None` for the basic case, which must pass before other trial cases run.
    pub(super) feature: Option<&'static str>,
    /// The failure; `None` if the case passed.
    pub(super) failure: Option<String>,
    /// Last lines of the program's log, if the case did not pass.
    pub(super) log: Vec<String>,
}

/// Runs the trial cases. Stops after the basic case if that case does not pass.
pub(super) async fn run(draft: &Draft, path: &Path) -> Result<Vec<TrialResult>, BoxError> {
    let plans = suites::plans(&case_files())?;
    let all: Vec<&'static str> = draft.features.iter().chain(&draft.candidates).copied().collect();
    let manifest = Manifest::parse(path, &draft.text(&all)?)?;
    let mut systems = built_in(None);
    manifest.install(&mut systems);
    let session = Session::new(systems, RunOptions::default(), Some(manifest), 1, String::new());
    let mut tried = Vec::new();
    let wanted = std::iter::once(None).chain(draft.candidates.iter().copied().map(Some));
    for feature in wanted {
        let Some(plan) = case(&plans, draft, feature) else {
            continue;
        };
        let result = session.run_one(plan.clone()).await;
        let (failure, log) = failure(&result.outcome).unzip();
        let is_first_and_failed = feature.is_none() && failure.is_some();
        tried.push(TrialResult {
            case: plan.id().to_owned(),
            feature,
            failure,
            log: log.unwrap_or_default(),
        });
        if is_first_and_failed {
            break;
        }
    }
    Ok(tried)
}

/// The first case that involves no other role, needs this feature, and otherwise needs only features that the draft claims.
fn case<'p>(plans: &'p [Plan], draft: &Draft, feature: Option<&'static str>) -> Option<&'p Plan> {
    let is_fit = |plan: &&Plan| {
        let needed = plan.features();
        let other_features = needed.iter().filter(|name| Some(**name) != feature);
        plan.level != Level::Provisional
            && plan.roles == [draft.role]
            && feature.is_none_or(|feature| needed.contains(feature))
            && other_features
                .into_iter()
                .all(|name| draft.features.contains(name))
    };
    // The cases of the first area of a role test basic functions. Cases of later areas inject faults.
    let own = |plan: &&Plan| plan.id().starts_with(first_area(draft.role));
    let mut fit = plans.iter().filter(is_fit);
    let first = plans.iter().filter(is_fit).find(own);
    first.or_else(|| fit.next())
}

fn first_area(role: Role) -> &'static str {
    match role {
        Role::Publisher => "publisher/value/",
        Role::Scheduler => "scheduler/filter/",
        Role::Cleaner => "cleaner/orphans/",
        Role::Driver => "driver/identity/",
    }
}

/// The failure of a case that did not pass, and the last log lines of the programs.
fn failure(ended: &CaseOutcome) -> Option<(String, Vec<String>)> {
    match ended {
        CaseOutcome::Passed | CaseOutcome::UnexpectedPass(_) => None,
        CaseOutcome::Skipped(why) => Some((format!("skipped: {why}"), Vec::new())),
        CaseOutcome::NotRun(error) => Some((error.to_string(), Vec::new())),
        CaseOutcome::Failed(explained)
        | CaseOutcome::KnownFailure(_, explained)
        | CaseOutcome::Flaky(_, explained)
        | CaseOutcome::Inconclusive(explained) => {
            Some((explained.failure_text.one_line(), explained.log.clone()))
        }
    }
}
