//! `study`: each study at its small size, and the files that it writes.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use suites::Catalogue;

use crate::program::run_expecting;

fn assert_study_holds(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let (printed, _) = run_expecting(0, &["study", name, "--small", "--json", "--output", output]);
    let study: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(study["name"], name);
    let findings = study["findings"].as_array().unwrap();
    let catalogue = Catalogue::load();
    for finding in findings {
        assert_eq!(finding["holds"], true, "{finding}");
        let id = finding["statement"].as_str().unwrap();
        assert!(catalogue.entry(id).is_some(), "no statement is called {id}");
    }
    let written = |end: &str| std::fs::read_to_string(Path::new(output).join(format!("study-{name}.{end}")));
    assert_eq!(written("json").unwrap(), printed.trim_end());
    assert_page_is_complete(&written("html").unwrap(), &study);
    let (text, _) = run_expecting(0, &["study", name, "--small"]);
    let all = format!("{} hold, 0 do not", findings.len());
    assert!(text.trim_end().ends_with(&all), "{text}");
}

/// Checks that every finding has a row, that every plot has a drawing with a text, and that the page loads no external resources.
fn assert_page_is_complete(page: &str, study: &Value) {
    let markup = page.replacen("<!DOCTYPE html>", "", 1);
    let document = roxmltree::Document::parse(&markup).unwrap();
    let count = |name: &str| {
        let nodes = document.descendants();
        nodes.filter(|node| node.has_tag_name(name)).count()
    };
    assert_eq!(count("script") + count("link") + count("img"), 0);
    assert_eq!(count("figure"), study["plots"].as_array().unwrap().len());
    let messages: BTreeSet<&str> = document.descendants().filter_map(|node| node.text()).collect();
    for finding in study["findings"].as_array().unwrap() {
        assert!(
            messages.contains(finding["statement"].as_str().unwrap()),
            "{finding}"
        );
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
fn the_designs_study_holds() {
    assert_study_holds("designs");
}

#[test]
fn the_autoscaler_study_holds() {
    assert_study_holds("autoscaler");
}

#[test]
fn the_scoring_study_holds() {
    assert_study_holds("scoring");
}

#[test]
fn the_cost_study_holds() {
    assert_study_holds("cost");
}

#[test]
fn the_burst_study_holds() {
    assert_study_holds("burst");
}

/// Two variants are sufficient: all variants run the same way, and only their scenarios differ.
#[test]
fn a_burst_runs_in_real_time_with_the_selected_variants_only() {
    let wanted = ["--variant=plain", "--variant=tracked"];
    let args = [
        &["study", "burst", "--small", "--json", "--real-time"][..],
        &wanted,
    ]
    .concat();
    let (printed, _) = run_expecting(0, &args);
    let study: Value = serde_json::from_str(&printed).unwrap();
    let rows = study["tables"][1]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{printed}");
    for row in rows {
        assert_eq!((&row[1], &row[2]), (&30.into(), &0.into()), "{row}");
    }
    let findings = study["findings"].as_array().unwrap();
    assert_eq!(
        findings.len(),
        1,
        "the others compare with what was not run: {printed}"
    );
}

#[test]
fn a_burst_skips_variants_that_programs_do_not_support() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("sut.yaml");
    let cleaner = "name: other\nversion: '1'\nfeatures: []\nroles:\n  cleaner:\n    argv: [/bin/false]\n";
    std::fs::write(&manifest, cleaner).unwrap();
    let (printed, messages) = run_expecting(
        1,
        &["study", "burst", "--small", "--sut", manifest.to_str().unwrap()],
    );
    assert!(
        messages.contains("skip  tracked: the case has no cleaner"),
        "{messages}"
    );
    assert!(printed.contains("0 hold, 0 do not"), "{printed}");
    run_expecting(2, &["study", "burst", "--sut", "nowhere.yaml"]);
}

#[test]
fn a_burst_without_published_capacity_fails_its_findings() {
    let defect = "--defect=publisher-never-refreshes";
    let (printed, _) = run_expecting(1, &["study", "burst", "--small", "--json", defect]);
    let study: Value = serde_json::from_str(&printed).unwrap();
    let findings = study["findings"].as_array().unwrap().iter();
    let failed = findings.filter(|finding| finding["holds"] == false);
    let failed: Vec<&str> = failed
        .map(|finding| finding["statement"].as_str().unwrap())
        .collect();
    assert!(failed.contains(&"SCALE-16"), "{failed:?}");
}

#[test]
fn defects_of_publisher_and_cleaner_fail_their_cost_findings() {
    for (defect, statements) in [
        (
            "publisher-makes-duplicates",
            &["SCALE-01", "SCALE-02", "SCALE-03"][..],
        ),
        ("publisher-repeats-get-capacity", &["SCALE-12"]),
        ("cleaner-idle", &["SCALE-07"]),
    ] {
        let (printed, _) = run_expecting(1, &["study", "cost", "--small", "--json", "--defect", defect]);
        let study: Value = serde_json::from_str(&printed).unwrap();
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
fn the_cost_of_a_given_cluster_is_calculated() {
    let args = [
        "study",
        "cost",
        "--small",
        "--nodes=3000",
        "--classes=4",
        "--poll=1m",
    ];
    let (printed, _) = run_expecting(0, &args);
    let row = |mode: &str| {
        let mut rows = printed
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = rows.find(|words| words.starts_with(&[mode, "3000", "3000", "4"]));
        found.unwrap_or_else(|| panic!("{mode}: {printed}"))[4].to_owned()
    };
    assert_eq!(
        (row("central"), row("distributed")),
        ("12000".into(), "12000".into())
    );
    let (_, messages) = run_expecting(2, &["study", "cost", "--nodes=3000", "--poll=1"]);
    assert!(
        messages.contains("`1` has no unit of time; write 500ms, 10s, 1m or 1h"),
        "{messages}"
    );
}

#[test]
fn an_unknown_study_is_an_error_that_lists_the_valid_ones() {
    let (_, messages) = run_expecting(2, &["study", "design"]);
    assert!(messages.contains("designs"), "{messages}");
}

/// Fails if a picture in the README lacks the name of a line that the study plots.
#[test]
fn the_pictures_of_the_readme_are_current() {
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
        let messages: BTreeSet<&str> = picture.descendants().filter_map(|node| node.text()).collect();
        let (printed, _) = run_expecting(0, &["study", name, "--small", "--json"]);
        let study: Value = serde_json::from_str(&printed).unwrap();
        let plot = &study["plots"][0];
        let lines = plot["lines"].as_array().unwrap().iter();
        let names: Vec<&str> = lines.map(|line| line["name"].as_str().unwrap()).collect();
        let shown = names.iter().filter(|name| messages.contains(**name)).count();
        // The picture of the burst study shows a selection of variants.
        let wanted = if name == "burst" { 4 } else { names.len() };
        assert_eq!(shown, wanted, "{path} lacks some of {names:?}");
        for axis in ["x", "y"] {
            let label = plot[axis]["label"].as_str().unwrap();
            assert!(
                messages.iter().any(|text| text.contains(label)),
                "{path} has no {label}"
            );
        }
    }
}
