//! The colour of the badge: red only for failures, green only for a complete result.

use serde_json::Value;
use suites::report::Report;

use super::{CaseRecord, case, every_verdict, parse, read, report, write_all_formats};

fn endpoint(report: &Report) -> Value {
    serde_json::from_str(&read(&write_all_formats(report), "badge.json")).unwrap()
}

fn complete_report(cases: Vec<CaseRecord>) -> Report {
    let mut report = report(cases);
    report.partial.clear();
    report
}

#[test]
fn the_endpoint_has_the_format_of_shields_io() {
    let badge = endpoint(&complete_report(vec![
        case("a/b/c", "pass"),
        case("a/b/d", "skip"),
    ]));
    assert_eq!(badge["schemaVersion"], 1);
    assert_eq!(badge["label"], "capacity publisher");
    assert_eq!(badge["message"], "core 1/1 + 1 feature");
    assert_eq!(badge["isError"], false);
}

#[test]
fn the_colour_agrees_with_the_exit_code() {
    for (verdict, colour) in [
        ("pass", "brightgreen"),
        ("fail", "red"),
        ("flaky", "red"),
        ("known-failure", "yellow"),
        ("inconclusive", "lightgrey"),
        ("error", "lightgrey"),
        ("skip", "lightgrey"),
    ] {
        let badge = endpoint(&complete_report(vec![case("a/b/c", verdict)]));
        assert_eq!(badge["color"], colour, "{verdict}: {badge}");
    }
    let badge = endpoint(&report(vec![case("a/b/c", "pass")]));
    assert_eq!(badge["color"], "yellow", "partial: {badge}");
    assert!(
        badge["message"].as_str().unwrap().ends_with("(partial)"),
        "{badge}"
    );
}

#[test]
fn the_svg_is_well_formed_and_has_the_same_text() {
    let mut every = every_verdict();
    every.system.roles = vec![super::NASTY.to_owned()];
    let folder = write_all_formats(&every);
    let text = read(&folder, "badge.svg");
    let document = parse(&text);
    assert_eq!(document.root_element().tag_name().name(), "svg");
    let badge: Value = serde_json::from_str(&read(&folder, "badge.json")).unwrap();
    let texts: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name("text") || node.has_tag_name(("http://www.w3.org/2000/svg", "text")))
        .filter_map(|node| node.text())
        .collect();
    assert_eq!(texts.last().copied(), badge["message"].as_str());
    assert!(
        !document
            .descendants()
            .any(|node| node.tag_name().name() == "script")
    );
}
