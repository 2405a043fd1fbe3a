//! `report.html` is one well-formed file without scripts, and no untrusted text in it is markup.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use roxmltree::Document;
use suites::report::{Report, write_all};

use super::{CANARY, NASTY, case, every_verdict, parse, read, report, write_all_formats};

fn page(report: &Report) -> String {
    read(&write_all_formats(report), "report.html")
}

/// The text of the first element with this CSS class.
fn text_of(document: &Document<'_>, class: &str) -> String {
    let mut nodes = document
        .descendants()
        .filter(|node| node.attribute("class") == Some(class));
    let node = nodes.next().unwrap_or_else(|| panic!("nothing of class {class}"));
    node.descendants()
        .filter_map(|node| if node.is_text() { node.text() } else { None })
        .collect()
}

/// Fails if an element of the page runs code or loads external resources.
pub(super) fn assert_harmless(document: &Document<'_>) {
    const ELEMENTS: [&str; 9] = [
        "script",
        "img",
        "iframe",
        "object",
        "embed",
        "link",
        "base",
        "form",
        "foreignObject",
    ];
    for node in document.descendants().filter(|node| node.is_element()) {
        let name = node.tag_name().name();
        assert!(!ELEMENTS.contains(&name), "there is a <{name}>");
        for attribute in node.attributes() {
            assert!(!attribute.name().starts_with("on"), "{}", attribute.name());
            if matches!(attribute.name(), "href" | "src") {
                let file = attribute.value().split('#').next();
                assert!(
                    file.is_some_and(|file| ["", "report.html", "requirements.html"].contains(&file)),
                    "{}",
                    attribute.value()
                );
            }
        }
        if name == "style" {
            let style = node.text().unwrap();
            assert!(!style.contains("url(") && !style.contains("@import"), "{style}");
        }
    }
}

#[test]
fn the_page_runs_no_script_and_loads_no_resource() {
    let page = page(&every_verdict());
    let document = parse(&page);
    assert_harmless(&document);
    let text: String = document
        .descendants()
        .filter_map(|node| if node.is_text() { node.text() } else { None })
        .collect();
    for words in [CANARY, "<script>", "]]> <!--", "&amp;", "::error::injected"] {
        assert!(text.contains(words), "no {words} in the texts of the page");
    }
    assert!(!page.contains(['\u{1b}', '\u{0}', '\u{202e}', '\r']));
}

fn values<'d>(document: &'d Document<'_>, attribute: &str) -> Vec<&'d str> {
    let nodes = document.descendants();
    nodes.filter_map(|node| node.attribute(attribute)).collect()
}

#[test]
fn every_link_of_both_pages_has_a_target_and_ids_are_unique() {
    let folder = write_all_formats(&every_verdict());
    let texts = ["report.html", "requirements.html"].map(|name| (name, read(&folder, name)));
    let pages = texts.each_ref().map(|(name, text)| (*name, parse(text)));
    let mut links = BTreeMap::new();
    for (here, document) in &pages {
        let ids = values(document, "id");
        assert_eq!(ids.len(), BTreeSet::from_iter(&ids).len(), "{here}: {ids:?}");
        for link in values(document, "href") {
            let (file, id) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { here } else { file };
            let page = pages.iter().find(|(name, _)| *name == file);
            let ids = values(&page.unwrap_or_else(|| panic!("{link}")).1, "id");
            assert!(id.is_empty() || ids.contains(&id), "{here}: {link} leads nowhere");
            *links.entry((*here, file)).or_insert(0) += 1;
        }
    }
    for (from, to) in [
        ("report.html", "report.html"),
        ("report.html", "requirements.html"),
        ("requirements.html", "report.html"),
    ] {
        assert!(links[&(from, to)] >= 5, "{links:?}");
    }
}

/// When the button of one kind of cases is selected, CSS rules hide the cases of the other kinds.
#[test]
fn each_kind_of_cases_can_be_shown_alone() {
    let page = page(&every_verdict());
    let document = parse(&page);
    let kinds: BTreeSet<&str> = values(&document, "data-kind").into_iter().collect();
    assert_eq!(kinds, BTreeSet::from(["publisher", "scheduler"]));
    let ids = values(&document, "id");
    for kind in kinds {
        assert!(ids.contains(&format!("only-{kind}").as_str()), "{kind}");
        let rule = format!(
            "body:has(#only-{kind}:checked) [data-kind]:not([data-kind={kind}]) {{ display: none; }}"
        );
        assert!(page.contains(&rule), "{kind}");
    }
    let explained = document.descendants().filter(|node| node.has_tag_name("article"));
    for article in explained {
        let id = article.attribute("id").unwrap();
        assert!(id.starts_with(article.attribute("data-kind").unwrap()), "{id}");
    }
}

#[test]
fn cases_that_did_not_pass_are_explained_and_others_listed() {
    let page = page(&every_verdict());
    let document = parse(&page);
    let mut articles = BTreeSet::new();
    for node in document.descendants().filter(|node| node.has_tag_name("article")) {
        articles.insert(node.attribute("id").unwrap());
    }
    let wanted = [
        "publisher/value/error",
        "publisher/value/fail",
        "publisher/value/flaky",
        "scheduler/filter/inconclusive",
        "scheduler/filter/known",
        "scheduler/filter/provisional",
    ];
    assert_eq!(articles, BTreeSet::from(wanted));
    let listed: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name("li"))
        .filter_map(|node| node.first_element_child()?.text())
        .collect();
    for id in [
        "publisher/value/pass",
        "scheduler/filter/skip",
        "scheduler/filter/surprise",
    ] {
        assert!(listed.contains(&id), "{id} in {listed:?}");
    }
    assert!(page.contains("<h1>Storage capacity: 2 of 8 cases failed</h1>"));
}

#[test]
fn a_page_of_a_thousand_failures_stays_small() {
    let many = (0..1_000).map(|number| case(&format!("a/b/{number}"), "fail"));
    let page = page(&report(many.collect()));
    let document = parse(&page);
    let articles = document.descendants().filter(|node| node.has_tag_name("article"));
    assert_eq!(articles.count(), 100);
    assert!(page.contains("id=\"a/b/999\""), "each is named");
}

/// Stores a run of a case with two storage pools. The capacity of one pool is never published, and a volume is created during the run.
fn stored_run(folder: &Path) {
    let scenario = "id: publisher/a\ntitle: t\nrequirements: [PUB-21]\ncluster: {nodes: [n1, n2], classes: [fast], backend: {n1: 10Gi, \
                    n2: 20Gi}}\nsteps:\n  - id: start\n    expect:\n      - capacities: {fast: {n1: 10Gi, n2: 20Gi}}\n        why: it must\n";
    let object = |node: &str| {
        serde_json::json!({"metadata": {"labels": {
            "csi.storage.k8s.io/drivername": "disk.example.com", "csi.storage.k8s.io/managed-by": "x"}},
            "storageClassName": "fast", "capacity": "10Gi",
            "nodeTopology": {"matchLabels": {"disk.example.com/node": node}}})
    };
    let facts = [
        serde_json::json!({"fact": "begin", "case": "publisher/a", "refreshUs": 1000, "patience": 1.0, "format": 1}),
        serde_json::json!({"fact": "stepStarted", "step": 0}),
        serde_json::json!({"fact": "process", "client": "publisher", "role": "publisher", "event": "started"}),
        serde_json::json!({"fact": "stepActed", "step": 0}),
        serde_json::json!({"fact": "call", "method": "GetCapacity", "node": null, "segment": "n1", "parameters": {},
            "volume": null, "requiredBytes": null, "code": "OK", "message": null, "available": 10_737_418_240_i64, "maximum": null}),
        serde_json::json!({"fact": "commit", "client": "publisher", "change": "added", "resource": "csistoragecapacities",
            "namespace": "csi", "name": format!("c {NASTY}"), "revision": 5, "object": object("n1")}),
        serde_json::json!({"fact": "bound", "step": 0, "expect": 0, "bound": "within"}),
    ];
    let lines = facts.iter().enumerate().map(|(seq, what)| {
        let fact = serde_json::json!({"seq": seq, "at_us": seq * 1_000_000, "what": what});
        format!("{fact}\n")
    });
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("scenario.yaml"), scenario).unwrap();
    std::fs::write(folder.join("journal.jsonl"), lines.collect::<String>()).unwrap();
}

#[test]
fn a_stored_run_is_shown_with_table_chain_diagram_and_plots() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("cases/publisher.a");
    stored_run(&run);
    let mut failed = case("publisher/a", "fail");
    failed.folder = Some(run);
    write_all(&report(vec![failed]), folder.path()).unwrap();
    let page = read(&folder, "report.html");
    let document = parse(&page);
    assert_harmless(&document);

    let diagram = text_of(&document, "diagram");
    for words in [
        "harness",
        "API server",
        "publisher",
        "CSI driver",
        "GetCapacity n1 → 10Gi",
        CANARY,
    ] {
        assert!(diagram.contains(words), "no {words} in {diagram}");
    }
    assert!(text_of(&document, "missing").contains("first missing"));
    let plots: Vec<&str> = document
        .descendants()
        .filter(|node| node.attribute("class") == Some("plot"))
        .filter_map(|node| node.attribute("aria-label"))
        .collect();
    assert_eq!(
        plots,
        [
            "publisher/a: capacity of class fast at n2: at the end the pools had 20Gi, and nothing was published, where 20Gi was expected",
            "publisher/a: capacity of class fast at n1: at the end the pools had 10Gi, and 10Gi was published",
        ]
    );
    let published: Vec<&str> = document
        .descendants()
        .filter(|node| node.has_tag_name("path") && node.attribute("class") == Some("published"))
        .filter_map(|node| node.attribute("d"))
        .collect();
    assert_eq!(published[0], "", "nothing was published for n2");
    assert!(
        published[1].starts_with("M643.3 "),
        "from the commit after 5 of 6 s: {}",
        published[1]
    );
}

#[test]
fn a_missing_or_unreadable_run_leaves_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("cases/publisher.a");
    stored_run(&run);
    std::fs::write(run.join("journal.jsonl"), "{\"not\": \"a fact\"}\n").unwrap();
    let mut failed = case("publisher/a", "fail");
    failed.folder = Some(run);
    write_all(&report(vec![failed]), folder.path()).unwrap();
    let page = read(&folder, "report.html");
    assert!(page.contains("This run has no readable journal"));
    assert!(parse(&page).descendants().any(|node| node.has_tag_name("pre")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_text_is_escaped_in_every_format(text in "\\PC{0,40}[<>&\"'`|\\x00-\\x1f\u{80}-\u{9f}\u{202e}]{0,10}\\PC{0,20}") {
        let mut failed = case("a/b/c", "fail");
        failed.reason = text.clone();
        failed.explanation = Some(text.clone());
        let folder = write_all_formats(&report(vec![failed]));
        for name in ["report.html", "junit.xml", "badge.svg"] {
            parse(&read(&folder, name));
        }
        let page = read(&folder, "report.html");
        let shown = text_of(&parse(&page), "reason");
        // Printable characters must appear in the same order. Texts with terminal escape sequences are not compared, because reports remove
        // these sequences.
        if !text.contains(['\u{1b}', '\u{9b}']) {
            let keep = |text: &str| text.chars().filter(|it| it.is_alphanumeric() || "<>&\"'`|".contains(*it)).collect::<String>();
            prop_assert_eq!(keep(&shown), keep(&text));
        }
    }
}

#[test]
fn a_finding_shows_the_text_and_source_of_its_rule() {
    let mut report = every_verdict();
    let folder = write_all_formats(&report);
    let demand = "demanded: the arguments of a CSI call are valid according to the CSI spec (CSI, GetCapacityRequest and \
                  CreateVolumeRequest)";
    let page = read(&folder, "report.html");
    assert!(page.contains(demand), "{page}");
    let summary = read(&folder, "report.md");
    assert!(
        summary.contains("- demanded: the arguments of a CSI call"),
        "{summary}"
    );
    // A report written by another version of the harness may contain unknown rules.
    report.findings[0].rule = "of-tomorrow".to_owned();
    assert!(!read(&write_all_formats(&report), "report.html").contains("demanded:"));
}
