//! Computes exit codes from the verdicts of cases.

use suites::harness::StartError;
use suites::report::{CaseRecord, CaseVerdict, Report};
use suites::{CaseOutcome, CaseResult};

use crate::Exit;
use crate::out::eprintln;

/// The exit code of a run that has just ended. Reads panics and rejected files from the results, because the report does not contain them.
pub(crate) fn exit_of(results: &[CaseResult], report: &Report) -> Exit {
    let is_refused =
        |result: &CaseResult| matches!(&result.outcome, CaseOutcome::NotRun(StartError::Refused { .. }));
    if results.iter().any(is_panic) {
        return Exit::Internal;
    }
    match exit_of_record(report) {
        // If a case could not start because its file demands something impossible, the file is invalid. Any other start error is an error
        // of the environment.
        Exit::Environment if results.iter().any(is_refused) => Exit::Usage,
        exit => exit,
    }
}

/// Whether this program panicked in a case.
pub(crate) fn is_panic(result: &CaseResult) -> bool {
    matches!(&result.outcome, CaseOutcome::NotRun(StartError::Panicked { .. }))
}

pub(crate) fn exit_of_record(report: &Report) -> Exit {
    match exit_of_verdicts(&report.cases) {
        exit @ (Exit::Failed | Exit::Environment) => exit,
        _ if report.unexcused_findings().next().is_some() => Exit::Findings,
        _ if !report.unfinished.is_empty() => Exit::Incomplete,
        // A stale `knownFailures` entry makes the manifest invalid, even if some cases are inconclusive.
        Exit::Passed | Exit::Inconclusive if !report.stale_entries().is_empty() => Exit::Usage,
        exit => exit,
    }
}

pub(crate) fn exit_of_verdicts(cases: &[CaseRecord]) -> Exit {
    let has = |verdict: CaseVerdict| cases.iter().any(|case| case.verdict == verdict);
    if cases.iter().any(CaseRecord::counts_as_failure) {
        return Exit::Failed;
    }
    // A case that could not be run, because of its file or this machine, is no evidence for or against a system under test.
    if has(CaseVerdict::Error) {
        return Exit::Environment;
    }
    if cases.iter().all(|case| case.verdict == CaseVerdict::Skip) {
        eprintln!("error: every selected case was skipped, so nothing was verified; `-v` prints the reasons");
        return Exit::NoCases;
    }
    if has(CaseVerdict::Inconclusive) {
        return Exit::Inconclusive;
    }
    Exit::Passed
}
