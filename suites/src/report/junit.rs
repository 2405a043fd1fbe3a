//! `junit.xml`: one test suite per area, one test case per case. Knows only the report.
//!
//! JUnit failures are exactly the failures that count against the system, so this file is consistent with the exit code. A flaky case is a
//! failure with a flaky run. Known and provisional failures are reported as skipped.

use std::collections::BTreeMap;
use std::time::Duration;

use harness::scenario::Level;
use quick_junit::{FlakyOrRerun, NonSuccessKind, TestCase, TestCaseStatus, TestRerun, TestSuite, XmlString};

use super::escape::printable_text;
use super::{CaseRecord, CaseVerdict, FindingRecord, Report};
use crate::Cause;

/// The report as JUnit XML, in the dialect of Jenkins and Maven Surefire.
pub(super) fn xml(report: &Report) -> String {
    let mut areas: BTreeMap<String, Vec<&CaseRecord>> = BTreeMap::new();
    for case in &report.cases {
        areas.entry(case.area()).or_default().push(case);
    }
    let mut all = quick_junit::Report::new("csi-capacity-harness");
    all.set_time(duration(report.seconds));
    for (area, cases) in areas {
        all.add_test_suite(suite(report, &area, &cases));
    }
    let stale = report.stale_entries();
    if !stale.is_empty() {
        all.add_test_suite(stale_entries_suite(&stale));
    }
    let open: Vec<&FindingRecord> = report.unexcused_findings().collect();
    if !open.is_empty() {
        all.add_test_suite(findings(&open));
    }
    // Writing to memory cannot fail, and `XmlString` contains only valid characters.
    all.to_string().unwrap_or_default()
}

fn suite(report: &Report, area: &str, cases: &[&CaseRecord]) -> TestSuite {
    let mut suite = TestSuite::new(area.replace('/', "."));
    suite.set_time(duration(cases.iter().map(|case| case.seconds).sum()));
    // `set_timestamp` is not used: it requires a date type, but `started` is text in the required format.
    suite.extra.insert("timestamp".into(), text(&report.started));
    for (name, value) in [
        ("system", &report.system.name),
        ("version", &report.system.version),
        ("harness", &report.harness),
    ] {
        suite.add_property((text(name), text(value)));
    }
    suite.add_test_cases(cases.iter().map(|case| test_case(case)));
    suite
}

/// A test suite with an error for each stale manifest entry, because stale entries cause the run to fail.
fn stale_entries_suite(stale: &[String]) -> TestSuite {
    let mut suite = TestSuite::new("manifest");
    suite.add_test_cases(stale.iter().map(|wrong| {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(text(&one_line(wrong)));
        let place = wrong.split(": ").next().unwrap_or_default();
        TestCase::new(text(&format!("known failure at {place}")), status)
    }));
    suite
}

fn findings(open: &[&FindingRecord]) -> TestSuite {
    let mut suite = TestSuite::new("findings");
    suite.add_test_cases(open.iter().map(|finding| {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(text(&format!(
            "{} ({})",
            finding.text,
            finding.occurrences_in_words()
        )));
        TestCase::new(text(&format!("{} {}", finding.role, finding.rule)), status)
    }));
    suite
}

fn test_case(case: &CaseRecord) -> TestCase {
    let mut test = TestCase::new(text(&case.id), status(case).into());
    test.set_classname(text(&case.area().replace('/', ".")));
    test.set_time(duration(case.seconds));
    // Viewers of JUnit reports link to this file and line.
    test.extra.insert("file".into(), text(&case.file));
    test.extra.insert("line".into(), case.line.to_string().into());
    for (name, value) in [
        ("title", case.title.as_str()),
        ("level", level(case.level)),
        ("requirements", &case.requirements.join(" ")),
        ("features", &case.features.join(" ")),
    ] {
        test.add_property((text(name), text(value)));
    }
    if case.verdict == CaseVerdict::Pass && !case.reason.is_empty() {
        test.set_system_out(text(&case.reason));
    }
    test
}

enum Status<'r> {
    Passed,
    Failed(&'r CaseRecord),
    Flaky(&'r CaseRecord),
    Error(&'r CaseRecord),
    Skipped(&'r CaseRecord, &'static str),
}

fn status(case: &CaseRecord) -> Status<'_> {
    match case.verdict {
        CaseVerdict::Pass => Status::Passed,
        CaseVerdict::Fail if case.counts_as_failure() => Status::Failed(case),
        CaseVerdict::Flaky if case.counts_as_failure() => Status::Flaky(case),
        CaseVerdict::Fail | CaseVerdict::Flaky => {
            Status::Skipped(case, "provisional, so it does not count against the system: ")
        }
        CaseVerdict::KnownFailure => Status::Skipped(case, "known failure: "),
        CaseVerdict::Skip => Status::Skipped(case, ""),
        CaseVerdict::Error | CaseVerdict::Inconclusive => Status::Error(case),
    }
}

impl From<Status<'_>> for TestCaseStatus {
    fn from(status: Status<'_>) -> Self {
        let (mut junit, case, before) = match status {
            Status::Passed => return TestCaseStatus::success(),
            Status::Failed(case) => (TestCaseStatus::non_success(NonSuccessKind::Failure), case, ""),
            Status::Flaky(case) => (flaky(case), case, "flaky: "),
            Status::Error(case) => (TestCaseStatus::non_success(NonSuccessKind::Error), case, ""),
            Status::Skipped(case, before) => (TestCaseStatus::skipped(), case, before),
        };
        junit.set_message(text(&format!("{before}{}", one_line(&case.reason))));
        junit.set_type(match case.verdict {
            CaseVerdict::Fail => case.cause.map_or("fail", Cause::as_str),
            other => other.as_str(),
        });
        if let Some(explanation) = &case.explanation {
            junit.set_description(text(explanation));
        }
        junit
    }
}

/// JUnit status of a flaky case: a failure with the failed attempt attached as a rerun.
fn flaky(case: &CaseRecord) -> TestCaseStatus {
    let mut run = TestRerun::new(NonSuccessKind::Failure);
    run.set_message(text(&one_line(&case.reason)));
    run.set_type(case.cause.map_or("fail", Cause::as_str));
    run.set_description(text(case.explanation.as_deref().unwrap_or_default()));
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_rerun_kind(FlakyOrRerun::Flaky).add_rerun(run);
    status
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Core => "core",
        Level::Extended => "extended",
        Level::Provisional => "provisional",
    }
}

/// The text without line breaks, which XML parsers would replace in attributes anyway.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text(text: &str) -> XmlString {
    printable_text(text).into()
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
