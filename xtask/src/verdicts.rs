//! The exit code that the verdicts of a run speak for.

use suites::harness::StartError;
use suites::report::{CaseRecord, CaseVerdict, Report};
use suites::{CaseResult, Ended};

use crate::Exit;
use crate::out::eprintln;

/// The exit code of a run that has just ended.
pub(crate) fn exit_of(results: &[CaseResult], report: &Report) -> Exit {
    let is_refused = |result: &CaseResult| matches!(&result.ended, Ended::Broken(StartError::Refused { .. }));
    if results.iter().any(is_panic) {
        return Exit::Internal;
    }
    match exit_of_record(report) {
        // A file that asks for what can't be done is wrong; anything else of that kind is this machine's.
        Exit::Environment if results.iter().any(is_refused) => Exit::Usage,
        exit => exit,
    }
}

/// Whether a part of this program panicked in a case.
pub(crate) fn is_panic(result: &CaseResult) -> bool {
    matches!(&result.ended, Ended::Broken(StartError::Panicked { .. }))
}

/// The exit code that a record speaks for.
pub(crate) fn exit_of_record(report: &Report) -> Exit {
    match exit_of_verdicts(&report.cases) {
        exit @ (Exit::Failed | Exit::Environment) => exit,
        _ if report.open_findings().next().is_some() => Exit::Findings,
        _ if !report.unfinished.is_empty() => Exit::Incomplete,
        // An entry that excuses nothing makes a wrong file of the manifest, whatever else could not be decided.
        Exit::Passed | Exit::Inconclusive if !report.idle_entries().is_empty() => Exit::Usage,
        exit => exit,
    }
}

/// The exit code that these cases speak for.
pub(crate) fn exit_of_verdicts(cases: &[CaseRecord]) -> Exit {
    let has = |verdict: CaseVerdict| cases.iter().any(|case| case.verdict == verdict);
    if cases.iter().any(CaseRecord::is_bad) {
        return Exit::Failed;
    }
    // A case that could not be run because of its file or of this machine says nothing about a system.
    if has(CaseVerdict::Error) {
        return Exit::Environment;
    }
    if cases.iter().all(|case| case.verdict == CaseVerdict::Skip) {
        eprintln!("error: every selected case was skipped, so nothing was shown; see `-v` for the reasons");
        return Exit::Nothing;
    }
    if has(CaseVerdict::Inconclusive) {
        return Exit::Inconclusive;
    }
    Exit::Passed
}
