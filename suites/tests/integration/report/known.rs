//! Stale known-failure entries are detected in full runs only, and shown in every format of the report.

use suites::report::github::annotations;

use super::{Report, case, parse, read, report, write_all_formats};

/// The report of a full run: a case that matches the known-failure entry, with this verdict, and a second case.
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
fn a_stale_entry_is_reported_with_the_case_result_and_a_remedy() {
    for (verdict, remedy) in [
        ("pass", "scheduler/filter/known passes; remove the entry"),
        (
            "fail",
            "the failure has a different message; correct `fails`, or remove the entry",
        ),
        (
            "skip",
            "the cases of the entry are skipped; remove the entry, or claim the feature that they need",
        ),
    ] {
        let stale = run(verdict).stale_entries();
        assert_eq!(stale.len(), 1, "{verdict}");
        assert!(
            stale[0].starts_with("sut.yaml:9:11: nothing failed with “words"),
            "{stale:?}"
        );
        assert!(stale[0].ends_with(remedy), "{stale:?}");
    }
}

#[test]
fn undecidable_entries_are_not_reported() {
    let is_idle = |run: &Report| !run.stale_entries().is_empty();
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
    // A real API server may cause a skip that does not occur with other API servers, so the known-failure entry is not stale.
    let mut real = run("skip");
    real.settings.api_server = "v1.36.0".to_owned();
    assert!(!is_idle(&real));
}

#[test]
fn every_format_shows_stale_entries() {
    let (stale, used) = (run("pass"), run("known-failure"));
    let (shown, other) = (write_all_formats(&stale), write_all_formats(&used));
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
        annotations(&stale)
            .iter()
            .any(|line| line.starts_with("::error title=known failures::sut.yaml"))
    );
    assert!(
        !annotations(&used)
            .iter()
            .any(|line| line.contains("known failures"))
    );
}
