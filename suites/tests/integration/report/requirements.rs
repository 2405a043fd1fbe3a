//! `requirements.html` has each statement of the documents once, with what this very run says of it, and is as harmless as the other page.

use roxmltree::{Document, Node};
use suites::Catalogue;
use suites::report::{CaseRecord, Report};

use super::html::assert_harmless;
use super::{case, every_verdict, parse, read, report, written};

fn page(report: &Report) -> String {
    read(&written(report), "requirements.html")
}

/// A case that names these requirements.
fn naming(id: &str, verdict: &str, requirements: &[&str]) -> CaseRecord {
    CaseRecord {
        requirements: requirements.iter().map(|&id| id.to_owned()).collect(),
        ..case(id, verdict)
    }
}

fn text(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(|node| node.is_text());
    texts.filter_map(|node| node.text()).collect()
}

/// The cells of a requirement's row: its text, what came of it, and what shows it.
fn row(document: &Document<'_>, id: &str) -> [String; 3] {
    let mut rows = document
        .descendants()
        .filter(|node| node.attribute("id") == Some(id));
    let row = rows.next().unwrap_or_else(|| panic!("there is no {id}"));
    let cells = row.children().filter(|node| node.has_tag_name("td"));
    cells.map(text).collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn every_statement_has_a_row_below_its_document() {
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
fn a_statement_has_failed_where_one_of_its_cases_has() {
    let page = page(&report(vec![
        naming("a/b/fails", "fail", &["PUB-21", "PUB-22"]),
        naming("a/b/known", "known-failure", &["PUB-23"]),
        naming("a/b/passes", "pass", &["PUB-20", "PUB-21", "PUB-23"]),
        naming("a/b/skipped", "skip", &["PUB-19", "PUB-20"]),
    ]));
    let document = parse(&page);
    for (id, result, shown) in [
        ("PUB-19", "– skipped", "a/b/skipped skipped"),
        ("PUB-20", "✓ passed", "a/b/passesa/b/skipped skipped"),
        ("PUB-21", "✗ failed", "a/b/fails faileda/b/passes"),
        ("PUB-22", "✗ failed", "a/b/fails failed"),
        ("PUB-23", "◐ known to fail", "a/b/known known to faila/b/passes"),
        ("PUB-24", "not run", "no case of this run, and nothing else"),
    ] {
        let [_, told, by] = row(&document, id);
        assert_eq!((told.as_str(), by.as_str()), (result, shown), "{id}");
    }
    assert!(page.contains("1 passed, 2 failed, 1 known to fail, 1 skipped. "));
}

#[test]
fn what_is_shown_otherwise_says_how_and_what_asks_for_nothing_says_why() {
    let page = page(&report(Vec::new()));
    let document = parse(&page);
    for (id, words) in [
        (
            "MET-10",
            "test fake-apiserver/tests/integration/wire/health.rs::slow",
        ),
        (
            "API-08",
            "contract cargo test -p fake-apiserver --test contract storage/capacities",
        ),
        ("SCALE-22", "bench cargo xtask bench scheduler"),
        ("GATE-35", "People count drivers"),
    ] {
        let [_, _, by] = row(&document, id);
        assert!(by.starts_with(words), "{id}: {by}");
    }
}

#[test]
fn many_cases_are_folded_behind_those_that_say_most() {
    let passes = (0..20).map(|number| naming(&format!("a/b/{number}"), "pass", &["PUB-20"]));
    let fails = [naming("z/z/fails", "fail", &["PUB-20"])];
    let page = page(&report(passes.chain(fails).collect()));
    let document = parse(&page);
    let [_, result, by] = row(&document, "PUB-20");
    assert_eq!(result, "✗ failed");
    assert!(by.starts_with("z/z/fails failed"), "{by}");
    assert!(by.contains("and 15 more"), "{by}");
}

#[test]
fn nothing_in_the_page_runs_or_is_fetched() {
    let page = page(&every_verdict());
    assert_harmless(&parse(&page));
    assert!(!page.contains(['\u{1b}', '\u{0}', '\u{202e}', '\r']));
}
