//! `requirements.html` lists each requirement once with its result in the run, and has no scripts or external resources.

use roxmltree::{Document, Node};
use suites::Catalogue;
use suites::report::{CaseRecord, Report};

use super::html::assert_harmless;
use super::{case, every_verdict, parse, read, report, write_all_formats};

fn page(report: &Report) -> String {
    read(&write_all_formats(report), "requirements.html")
}

fn case_with_requirements(id: &str, verdict: &str, requirements: &[&str]) -> CaseRecord {
    CaseRecord {
        requirements: requirements.iter().map(|&id| id.to_owned()).collect(),
        ..case(id, verdict)
    }
}

fn text(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(|node| node.is_text());
    texts.filter_map(|node| node.text()).collect()
}

/// The cells in the table row of a requirement: text, result and evidence.
fn row(document: &Document<'_>, id: &str) -> [String; 3] {
    let mut rows = document
        .descendants()
        .filter(|node| node.attribute("id") == Some(id));
    let row = rows.next().unwrap_or_else(|| panic!("there is no {id}"));
    let cells = row.children().filter(|node| node.has_tag_name("td"));
    cells.map(text).collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn every_requirement_has_a_row_below_its_document() {
    let page = page(&report(Vec::new()));
    let document = parse(&page);
    let sections = document.descendants().filter(|node| node.has_tag_name("section"));
    let mut rows = 0;
    for (section, known) in sections.zip(Catalogue::load().documents()) {
        for id in section
            .descendants()
            .filter(|node| node.has_tag_name("tr"))
            .filter_map(|row| row.attribute("id"))
        {
            let entry = Catalogue::load().entry(id).unwrap();
            assert_eq!(entry.source.document, known.name, "{id}");
            assert_eq!(row(&document, id)[0], entry.text);
            rows += 1;
        }
    }
    assert_eq!(rows, Catalogue::load().ids().count());
}

#[test]
fn a_requirement_has_failed_if_one_of_its_cases_has() {
    let page = page(&report(vec![
        case_with_requirements("a/b/fails", "fail", &["PUB-21", "PUB-22"]),
        case_with_requirements("a/b/known", "known-failure", &["PUB-23"]),
        case_with_requirements("a/b/passes", "pass", &["PUB-20", "PUB-21", "PUB-23"]),
        case_with_requirements("a/b/skipped", "skip", &["PUB-19", "PUB-20"]),
    ]));
    let document = parse(&page);
    for (id, result, shown) in [
        ("PUB-19", "– skipped", "a/b/skipped skipped"),
        ("PUB-20", "✓ passed", "a/b/passesa/b/skipped skipped"),
        ("PUB-21", "✗ failed", "a/b/fails faileda/b/passes"),
        ("PUB-22", "✗ failed", "a/b/fails failed"),
        ("PUB-23", "◐ known to fail", "a/b/known known to faila/b/passes"),
        ("PUB-24", "not run", "no case of this run, and no other evidence"),
    ] {
        let [_, result_text, by] = row(&document, id);
        assert_eq!((result_text.as_str(), by.as_str()), (result, shown), "{id}");
    }
    assert!(page.contains("1 passed, 2 failed, 1 known to fail, 1 skipped. "));
}

#[test]
fn other_evidence_and_reasons_are_shown() {
    let page = page(&report(Vec::new()));
    let document = parse(&page);
    for (id, words) in [
        (
            "MET-10",
            "test fake-apiserver/tests/integration/wire/health.rs::metrics_show",
        ),
        (
            "API-08",
            "contract cargo test -p fake-apiserver-full --test contract storage/CSIStorageCapacities",
        ),
        ("SCALE-22", "bench cargo xtask bench scheduler"),
        ("GATE-35", "The sentence describes a decision about graduation"),
    ] {
        let [_, _, by] = row(&document, id);
        assert!(by.starts_with(words), "{id}: {by}");
    }
}

#[test]
fn many_cases_are_folded_after_the_most_significant_ones() {
    let passes = (0..20).map(|number| case_with_requirements(&format!("a/b/{number}"), "pass", &["PUB-20"]));
    let fails = [case_with_requirements("z/z/fails", "fail", &["PUB-20"])];
    let page = page(&report(passes.chain(fails).collect()));
    let document = parse(&page);
    let [_, result, by] = row(&document, "PUB-20");
    assert_eq!(result, "✗ failed");
    assert!(by.starts_with("z/z/fails failed"), "{by}");
    assert!(by.contains("and 15 more"), "{by}");
}

#[test]
fn the_page_runs_no_script_and_loads_no_resource() {
    let page = page(&every_verdict());
    assert_harmless(&parse(&page));
    assert!(!page.contains(['\u{1b}', '\u{0}', '\u{202e}', '\r']));
}
