//! `study`: each one at its small size, as a case of its own, and what it leaves in a folder.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use suites::Catalogue;

use crate::program::ended;

/// Makes a study that must hold, and looks at all that is said of it.
fn holds(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let (told, _) = ended(0, &["study", name, "--small", "--json", "--output", output]);
    let study: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(study["name"], name);
    let findings = study["findings"].as_array().unwrap();
    let catalogue = Catalogue::load();
    for finding in findings {
        assert_eq!(finding["holds"], true, "{finding}");
        let id = finding["statement"].as_str().unwrap();
        assert!(catalogue.entry(id).is_some(), "no statement is called {id}");
    }
    let written = |end: &str| std::fs::read_to_string(Path::new(output).join(format!("study-{name}.{end}")));
    assert_eq!(written("json").unwrap(), told.trim_end());
    page_is_whole(&written("html").unwrap(), &study);
    let (text, _) = ended(0, &["study", name, "--small"]);
    let all = format!("{} hold, 0 do not", findings.len());
    assert!(text.trim_end().ends_with(&all), "{text}");
}

/// Every finding has a row, every plot a drawing with a text for it, and nothing is fetched or run.
fn page_is_whole(page: &str, study: &Value) {
    let markup = page.replacen("<!DOCTYPE html>", "", 1);
    let document = roxmltree::Document::parse(&markup).unwrap();
    let count = |name: &str| {
        let nodes = document.descendants();
        nodes.filter(|node| node.has_tag_name(name)).count()
    };
    assert_eq!(count("script") + count("link") + count("img"), 0);
    assert_eq!(count("figure"), study["plots"].as_array().unwrap().len());
    let said: BTreeSet<&str> = document.descendants().filter_map(|node| node.text()).collect();
    for finding in study["findings"].as_array().unwrap() {
        assert!(said.contains(finding["statement"].as_str().unwrap()), "{finding}");
    }
    let drawings = document
        .descendants()
        .filter(|node| node.attribute("role") == Some("img"));
    for drawing in drawings {
        let words = drawing.attribute("aria-label").unwrap();
        assert!(words.contains(" ends at "), "{words}");
        assert!(!page.contains("NaN"), "{words}");
    }
}

#[test]
fn the_designs_are_as_the_documents_weigh_them() {
    holds("designs");
}

#[test]
fn an_autoscaler_grows_a_cluster_as_the_kep_says() {
    holds("autoscaler");
}

#[test]
fn scoring_does_what_it_is_wanted_for() {
    holds("scoring");
}

#[test]
fn studies_are_listed_and_an_unknown_one_is_told_with_them() {
    let (listed, _) = ended(0, &["study"]);
    assert!(listed.lines().any(|line| line == "designs"), "{listed}");
    let (_, said) = ended(2, &["study", "design"]);
    assert!(
        said.contains("no study is called `design`; there are autoscaler, designs, scoring"),
        "{said}"
    );
}
