//! GitHub annotations: one workflow command per line, escaped text, and not more annotations than GitHub shows.

use suites::report::Report;
use suites::report::github::annotations;

use super::{case, every_verdict, report};

/// Parses a workflow command as the GitHub runner does: kind, properties and message.
fn read_command(line: &str) -> (String, Vec<(String, String)>, String) {
    assert!(
        !line.contains(['\n', '\r']),
        "the annotation has more than one line: {line:?}"
    );
    let (head, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
    let (kind, properties) = head.split_once(' ').unwrap();
    let unescape = |text: &str| {
        let text = text.replace("%3A", ":").replace("%2C", ",");
        text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    };
    let properties = properties.split(',').map(|pair| {
        let (key, value) = pair.split_once('=').unwrap();
        (key.to_owned(), unescape(value))
    });
    (kind.to_owned(), properties.collect(), unescape(message))
}

#[test]
fn a_failure_is_an_error_at_the_line_of_its_step() {
    let lines = annotations(&report(vec![case("publisher/value/x", "fail")]));
    let (kind, properties, message) = read_command(&lines[0]);
    assert_eq!(kind, "error");
    let wanted = [
        ("file", "suites/cases/a,b:c.yaml"),
        ("line", "7"),
        ("title", "fail: publisher/value/x"),
    ];
    assert_eq!(
        properties,
        wanted.map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    assert!(message.starts_with("title a \"b\" 'c' <script>"), "{message}");
    assert!(
        message.contains("&amp; % : ,") && message.ends_with("  last line"),
        "{message}"
    );
}

#[test]
fn only_failures_that_count_are_errors() {
    let kinds: Vec<String> = annotations(&every_verdict())
        .iter()
        .map(|line| {
            let (kind, properties, _) = read_command(line);
            let title = properties.iter().find(|(key, _)| key == "title");
            format!("{kind} {}", title.unwrap().1)
        })
        .collect();
    let wanted = [
        "error error: publisher/value/error",
        "error fail: publisher/value/fail",
        "error flaky: publisher/value/flaky",
        "warning inconclusive: scheduler/filter/inconclusive",
        "warning fail: scheduler/filter/provisional",
        "warning pass: scheduler/filter/surprise",
        "notice partial",
    ];
    assert_eq!(kinds, wanted);
}

#[test]
fn the_tenth_annotation_summarizes_all_further_ones() {
    let failing = |count: usize| -> Report {
        let cases = (0..count).map(|number| case(&format!("a/b/{number:02}"), "fail"));
        let mut report = report(cases.collect());
        report.partial.clear();
        report
    };
    assert_eq!(annotations(&failing(10)).len(), 10);
    let lines = annotations(&failing(11));
    assert_eq!(lines.len(), 10);
    let (_, _, message) = read_command(&lines[9]);
    assert_eq!(message, "2 more:\na/b/09\na/b/10");
}

#[test]
fn a_tested_program_is_annotated_in_its_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("sut.yaml");
    std::fs::write(&manifest, "name: x\nfeatures:\n  - publisher.central\n").unwrap();
    let mut report = report(vec![case("publisher/value/x", "fail")]);
    report.command = vec!["conformance".to_owned(), format!("--sut={}", manifest.display())];
    let (_, properties, _) = read_command(&annotations(&report)[0]);
    assert_eq!(properties[0].1, manifest.display().to_string());
    assert_eq!(
        properties[1].1, "3",
        "the line of the feature that selects the case"
    );
}

#[test]
fn a_passed_run_has_no_annotations() {
    let mut report = report(vec![case("a/b/c", "pass"), case("a/b/d", "known-failure")]);
    report.partial.clear();
    assert_eq!(annotations(&report), Vec::<String>::new());
}
