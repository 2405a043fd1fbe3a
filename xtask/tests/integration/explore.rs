//! `explore`: seeds determine the clusters; a defect is found and minimized, and the written case reproduces it.

use std::path::Path;

use crate::program::xtask;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The paths of the case files in a folder.
fn cases(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path().display().to_string());
    paths.filter(|path| path.ends_with(".yaml")).collect()
}

/// The report.json of a folder.
fn record(folder: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(folder.join("report.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn correct_programs_have_no_finding_and_a_seed_determines_the_clusters() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().display().to_string();
    let explore = || {
        xtask(&[
            "explore",
            "--role=publisher",
            "--seed=7",
            "--worlds=5",
            "--output",
            &output,
        ])
    };
    let (first, second) = (explore(), explore());
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stdout));
    let drawn = |output: &std::process::Output| {
        let text = text(&output.stdout);
        let axes = text.lines().take_while(|line| !line.is_empty());
        axes.map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(!drawn(&first).is_empty());
    assert_eq!(drawn(&first), drawn(&second));
    assert!(text(&first.stdout).contains("seed 7: 5 clusters"));
    assert_eq!(cases(folder.path()), [""; 0]);
    let record = record(folder.path());
    assert_eq!(record["cases"].as_array().unwrap().len(), 1, "{record}");
    assert_eq!(record["cases"][0]["id"], "explore/publisher");
    assert_eq!(
        record["cases"][0]["title"],
        "5 clusters generated from seed 7 on conform to the specification"
    );
    assert_eq!(record["counts"], serde_json::json!({"pass": 1}));
}

#[test]
fn a_defect_is_found_minimized_and_reproduced_by_its_case() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().display().to_string();
    let defect = "--defect=publisher-ignores-maximum";
    let explored = xtask(&[
        "explore",
        "--role=publisher",
        "--seed=6",
        "--worlds=1",
        "--output",
        &output,
        defect,
    ]);
    let printed = text(&explored.stdout);
    assert_eq!(explored.status.code(), Some(1), "{printed}");
    for part in [
        "FOUND",
        "objects/wrong-capacity",
        "again   cargo xtask explore",
        "cargo xtask judge",
    ] {
        assert!(printed.contains(part), "no “{part}” in {printed}");
    }
    let [case] = &cases(folder.path())[..] else {
        panic!("one case is written: {printed}");
    };
    let written = std::fs::read_to_string(case).unwrap();
    assert!(
        written.contains("capacities:"),
        "the demands are explicit: {written}"
    );
    assert_eq!(
        written.matches("{name: n").count(),
        1,
        "one node is enough: {written}"
    );
    let record = record(folder.path());
    assert_eq!(record["counts"]["fail"], 1, "{record}");
    let junit = std::fs::read_to_string(folder.path().join("junit.xml")).unwrap();
    assert!(
        junit.contains("explore/publisher/6") && junit.contains("<failure"),
        "{junit}"
    );
    let repro = |options: &[&str]| xtask(&[&["repro", "--simulate=6", case], options].concat());
    assert_eq!(repro(&[]).status.code(), Some(0));
    assert_eq!(repro(&[defect]).status.code(), Some(1));
}

#[test]
fn invalid_exploration_options_are_rejected() {
    for (arguments, words) in [
        (["explore", "--role=driver"], "choose one of publisher"),
        (["explore", "--budget=soon"], "write a time such as 30s"),
        (["explore", "--worlds=0"], "0 is not in"),
    ] {
        let output = xtask(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}
