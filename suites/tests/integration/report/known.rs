//! Entries for known failures that excuse nothing: found in whole runs only, and shown in every form of the report.

use suites::report::github::annotations;

use super::{Report, case, parse, read, report, written};

/// A whole run of one case that the entry is about, or of another one.
fn run(verdict: &str) -> Report {
    let mut run = report(vec![
        case("scheduler/filter/known", verdict),
        case("publisher/value/a", "pass"),
    ]);
    run.settings.api_server = "in memory".to_owned();
    run.catalogue = 2;
    run.partial.clear();
    run
}

#[test]
fn it_is_told_what_became_of_the_case_and_what_to_do() {
    for (verdict, remedy) in [
        ("pass", "scheduler/filter/known passes; remove the entry"),
        (
            "fail",
            "what fails there says something else; correct `fails`, or remove the entry",
        ),
        (
            "skip",
            "its cases are skipped; remove the entry, or claim the feature that they need",
        ),
    ] {
        let idle = run(verdict).idle_entries();
        assert_eq!(idle.len(), 1, "{verdict}");
        assert!(
            idle[0].starts_with("sut.yaml:9:11: nothing failed with “words"),
            "{idle:?}"
        );
        assert!(idle[0].ends_with(remedy), "{idle:?}");
    }
}

#[test]
fn nothing_is_said_where_nobody_can_tell() {
    let is_idle = |run: &Report| !run.idle_entries().is_empty();
    for verdict in ["known-failure", "inconclusive", "error", "flaky"] {
        assert!(!is_idle(&run(verdict)), "{verdict}");
    }
    let mut part = run("pass");
    part.catalogue = 3;
    assert!(!is_idle(&part));
    let mut by_chance = run("pass");
    by_chance.known_failures[0].sometimes = true;
    assert!(!is_idle(&by_chance));
    let mut elsewhere = run("pass");
    elsewhere.known_failures[0].case = "scheduler/score".to_owned();
    assert!(!is_idle(&elsewhere));
    // Another API server may let the case run.
    let mut real = run("skip");
    real.settings.api_server = "v1.36.0".to_owned();
    assert!(!is_idle(&real));
}

#[test]
fn every_form_of_the_report_says_so() {
    let (idle, used) = (run("pass"), run("known-failure"));
    let (shown, other) = (written(&idle), written(&used));
    let place = "sut.yaml:9:11: nothing failed with";
    for form in ["report.html", "report.md", "junit.xml"] {
        assert!(read(&shown, form).contains(place), "{form}");
        assert!(!read(&other, form).contains(place), "{form}");
    }
    let junit = read(&shown, "junit.xml");
    let errors = |node: &roxmltree::Node<'_, '_>| node.has_tag_name("error");
    assert_eq!(parse(&junit).descendants().filter(errors).count(), 1);
    assert!(read(&shown, "report.md").contains("failed of"));
    assert!(read(&shown, "badge.json").contains("\"isError\":true"));
    assert!(
        annotations(&idle)
            .iter()
            .any(|line| line.starts_with("::error title=known failures::sut.yaml"))
    );
    assert!(
        !annotations(&used)
            .iter()
            .any(|line| line.contains("known failures"))
    );
}
