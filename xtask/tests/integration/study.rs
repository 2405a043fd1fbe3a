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
fn tracking_costs_what_the_kep_says() {
    holds("cost");
}

#[test]
fn a_burst_of_pods_finds_its_places_with_tracking() {
    holds("burst");
}

/// Two variants are enough: the others differ in what they ask for, not in how they are run.
#[test]
fn a_burst_runs_in_real_time_and_only_what_is_wanted_of_it() {
    let wanted = ["--variant=plain", "--variant=tracked"];
    let asked = [
        &["study", "burst", "--small", "--json", "--real-time"][..],
        &wanted,
    ]
    .concat();
    let (told, _) = ended(0, &asked);
    let study: Value = serde_json::from_str(&told).unwrap();
    let rows = study["tables"][1]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{told}");
    for row in rows {
        assert_eq!((&row[1], &row[2]), (&30.into(), &0.into()), "{row}");
    }
    let findings = study["findings"].as_array().unwrap();
    assert_eq!(
        findings.len(),
        1,
        "the others compare with what was not run: {told}"
    );
}

#[test]
fn a_burst_skips_what_programs_do_not_have() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("sut.yaml");
    let cleaner = "name: other\nversion: '1'\nfeatures: []\nroles:\n  cleaner:\n    argv: [/bin/false]\n";
    std::fs::write(&manifest, cleaner).unwrap();
    let (told, said) = ended(
        1,
        &["study", "burst", "--small", "--sut", manifest.to_str().unwrap()],
    );
    assert!(said.contains("skip  tracked: it has no cleaner"), "{said}");
    assert!(told.contains("0 hold, 0 do not"), "{told}");
    ended(2, &["study", "burst", "--sut", "nowhere.yaml"]);
}

#[test]
fn a_burst_without_figures_is_seen() {
    let defect = "--defect=publisher-never-refreshes";
    let (told, _) = ended(1, &["study", "burst", "--small", "--json", defect]);
    let study: Value = serde_json::from_str(&told).unwrap();
    let findings = study["findings"].as_array().unwrap().iter();
    let failed = findings.filter(|finding| finding["holds"] == false);
    let failed: Vec<&str> = failed
        .map(|finding| finding["statement"].as_str().unwrap())
        .collect();
    assert!(failed.contains(&"SCALE-16"), "{failed:?}");
}

#[test]
fn what_a_broken_publisher_or_cleaner_costs_is_seen() {
    for (defect, statements) in [
        (
            "publisher-makes-duplicates",
            &["SCALE-01", "SCALE-02", "SCALE-03"][..],
        ),
        ("publisher-asks-repeatedly", &["SCALE-12"]),
        ("cleaner-idle", &["SCALE-07"]),
    ] {
        let (told, _) = ended(1, &["study", "cost", "--small", "--json", "--defect", defect]);
        let study: Value = serde_json::from_str(&told).unwrap();
        let findings = study["findings"].as_array().unwrap().iter();
        let failed: BTreeSet<&str> = findings
            .filter(|finding| finding["holds"] == false)
            .map(|finding| finding["statement"].as_str().unwrap())
            .collect();
        for statement in statements {
            assert!(failed.contains(statement), "{defect}: {failed:?}");
        }
    }
}

#[test]
fn a_cluster_is_answered_for() {
    let asked = [
        "study",
        "cost",
        "--small",
        "--nodes=3000",
        "--classes=4",
        "--poll=1m",
    ];
    let (told, _) = ended(0, &asked);
    let row = |mode: &str| {
        let mut rows = told
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = rows.find(|words| words.starts_with(&[mode, "3000", "3000", "4"]));
        found.unwrap_or_else(|| panic!("{mode}: {told}"))[4].to_owned()
    };
    assert_eq!(
        (row("central"), row("distributed")),
        ("12000".into(), "12000".into())
    );
    let (_, said) = ended(2, &["study", "cost", "--nodes=3000", "--poll=1"]);
    assert!(
        said.contains("`1` has no unit of time; write 500ms, 10s, 1m or 1h"),
        "{said}"
    );
}

#[test]
fn an_unknown_study_is_told_with_those_that_there_are() {
    let (_, said) = ended(2, &["study", "design"]);
    assert!(said.contains("designs"), "{said}");
}

/// A picture that was made before a line got another name says so here.
#[test]
fn the_pictures_of_the_readme_show_what_the_studies_draw() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("docs/studies.md")).unwrap();
    for name in ["autoscaler", "burst", "cost", "designs", "scoring"] {
        let path = format!("docs/pictures/{name}.svg");
        assert!(
            readme.contains(&format!("(pictures/{name}.svg)")),
            "{path} is not shown"
        );
        let picture = std::fs::read_to_string(root.join(&path)).unwrap();
        let picture = roxmltree::Document::parse(&picture).unwrap();
        let said: BTreeSet<&str> = picture.descendants().filter_map(|node| node.text()).collect();
        let (told, _) = ended(0, &["study", name, "--small", "--json"]);
        let study: Value = serde_json::from_str(&told).unwrap();
        let plot = &study["plots"][0];
        let lines = plot["lines"].as_array().unwrap().iter();
        let names: Vec<&str> = lines.map(|line| line["name"].as_str().unwrap()).collect();
        let shown = names.iter().filter(|name| said.contains(**name)).count();
        // Of a burst only some variants are shown.
        let wanted = if name == "burst" { 4 } else { names.len() };
        assert_eq!(shown, wanted, "{path} lacks some of {names:?}");
        for axis in ["x", "y"] {
            let label = plot[axis]["label"].as_str().unwrap();
            assert!(
                said.iter().any(|text| text.contains(label)),
                "{path} has no {label}"
            );
        }
    }
}
