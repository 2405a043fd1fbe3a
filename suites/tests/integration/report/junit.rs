//! `junit.xml` must agree with the exit code, whatever text the report contains.

use roxmltree::Node;

use super::{CANARY, case, every_verdict, parse, read, report, write_all_formats};

/// Calls `look` with the XML element of the test case that has this name.
fn with_case<T>(name: &str, look: impl FnOnce(Node<'_, '_>) -> T) -> T {
    let text = read(&write_all_formats(&every_verdict()), "junit.xml");
    let document = parse(&text);
    let mut cases = document
        .descendants()
        .filter(|node| node.has_tag_name("testcase"));
    look(cases.find(|node| node.attribute("name") == Some(name)).unwrap())
}

fn children(node: Node<'_, '_>) -> Vec<String> {
    let elements = node.children().filter(Node::is_element);
    let names = elements.map(|child| child.tag_name().name().to_owned());
    names.filter(|name| name != "properties").collect()
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Node<'a, 'i> {
    node.children().find(|child| child.has_tag_name(name)).unwrap()
}

#[test]
fn each_verdict_has_the_element_that_junit_readers_expect() {
    for (name, elements) in [
        ("publisher/value/pass", &[][..]),
        ("publisher/value/fail", &["failure"]),
        ("publisher/value/flaky", &["failure", "flakyFailure"]),
        ("publisher/value/error", &["error"]),
        ("scheduler/filter/inconclusive", &["error"]),
        ("scheduler/filter/known", &["skipped"]),
        ("scheduler/filter/skip", &["skipped"]),
        ("scheduler/filter/provisional", &["skipped"]),
        ("scheduler/filter/surprise", &["system-out"]),
    ] {
        with_case(name, |node| assert_eq!(children(node), elements, "{name}"));
    }
}

#[test]
fn failures_and_skips_have_reason_kind_and_explanation() {
    with_case("publisher/value/fail", |node| {
        let failure = child(node, "failure");
        assert_eq!(failure.attribute("type"), Some("timeout"));
        let message = failure.attribute("message").unwrap();
        assert!(message.starts_with("reason a \"b\" 'c' <script>"), "{message}");
        assert!(!message.contains('\n'), "{message}");
        let text = failure.text().unwrap();
        assert!(text.contains(CANARY) && text.ends_with("\n  last line"), "{text}");
        assert!(text.contains("]]> <!-- --> &amp; %"), "{text}");
        assert!(text.contains("red") && !text.contains('\u{1b}'), "{text}");
    });
    with_case("scheduler/filter/skip", |node| {
        let message = child(node, "skipped").attribute("message");
        assert!(message.unwrap().starts_with("reason a"), "{message:?}");
    });
    with_case("scheduler/filter/known", |node| {
        let skipped = child(node, "skipped");
        assert_eq!(skipped.attribute("type"), Some("known-failure"));
        assert!(
            skipped
                .attribute("message")
                .unwrap()
                .starts_with("known failure: reason")
        );
        assert!(skipped.text().unwrap().contains(CANARY));
    });
    with_case("publisher/value/flaky", |node| {
        assert_eq!(child(node, "failure").attribute("type"), Some("flaky"));
        assert!(child(node, "flakyFailure").text().unwrap().contains("last line"));
    });
}

#[test]
fn suites_are_areas_with_correct_counts() {
    let text = read(&write_all_formats(&every_verdict()), "junit.xml");
    let document = parse(&text);
    let root = document.root_element();
    let counts = |node: Node<'_, '_>| {
        ["tests", "failures", "errors", "skipped"].map(|name| node.attribute(name).unwrap().to_owned())
    };
    assert_eq!(counts(root), ["9", "2", "2", "3"]);
    let suites: Vec<_> = root
        .children()
        .filter(|node| node.has_tag_name("testsuite"))
        .collect();
    let names: Vec<_> = suites
        .iter()
        .map(|node| node.attribute("name").unwrap())
        .collect();
    assert_eq!(names, ["publisher.value", "scheduler.filter"]);
    assert_eq!(counts(suites[0]), ["4", "2", "1", "0"]);
    assert_eq!(suites[0].attribute("timestamp"), Some("2026-01-02T03:04:05Z"));
    assert_eq!(suites[0].attribute("time"), Some("6.000"));
}

#[test]
fn a_case_has_its_file_line_and_requirements() {
    with_case("publisher/value/fail", |node| {
        assert_eq!(node.attribute("file"), Some("suites/cases/a,b:c.yaml"));
        assert_eq!(node.attribute("line"), Some("7"));
        let properties = child(node, "properties").children().filter(Node::is_element);
        let mut requirements = properties.filter(|it| it.attribute("name") == Some("requirements"));
        let value = requirements.next().unwrap().attribute("value").unwrap();
        assert!(value.starts_with("PUB-21 X-a"), "{value}");
    });
}

#[test]
fn a_very_long_explanation_is_not_cut() {
    let mut long = case("a/b/long", "fail");
    long.explanation = Some("<line & more>\n".repeat(100_000));
    let text = read(&write_all_formats(&report(vec![long])), "junit.xml");
    let document = parse(&text);
    let failure = document.descendants().find(|node| node.has_tag_name("failure"));
    let lines = failure.unwrap().text().unwrap().lines().count();
    assert_eq!(lines, 100_000);
}
