//! The command line as a user meets it: what it prints, where, and with which exit code. Wrong input above all.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod program;

use program::xtask;
use std::path::Path;
use std::process::Output;

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Writes case files into a folder and lists them.
fn list_files(files: &[(&str, &str)]) -> (Output, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
    }
    (
        xtask(&["list", "--folder", folder.path().to_str().unwrap()]),
        folder,
    )
}

const GOOD: &str = "\
id: publisher/a
title: a case
cluster: {nodes: [n1], classes: [fast], backend: {n1: 1Gi}}
steps:
  - id: start
    expect:
      - capacities: {fast: {n1: 1Gi}}
        why: it must
";

#[test]
fn a_wrong_file_is_named_with_its_place_and_ends_with_2() {
    let table = "\ntable:\n  columns: [row, a]\n  rows:\n  - [x, 1Gi]\n  - [x, 2Gi]\n";
    let with_table = GOOD
        .replacen("\ntitle", &format!("{table}title"), 1)
        .replace("backend: {n1: 1Gi}", "backend: {n1: $a}");
    for (what, text, place, words) in [
        (
            "unknown key",
            format!("{GOOD}colour: red\n"),
            "publisher/a.yaml:9:1",
            "colour",
        ),
        (
            "wrong type",
            GOOD.replace("nodes: [n1]", "nodes: 7.5"),
            "publisher/a.yaml:3:",
            "node",
        ),
        (
            "wrong size",
            GOOD.replace("backend: {n1: 1Gi}", "backend: {n1: lots}"),
            "publisher/a.yaml:3:",
            "lots",
        ),
        (
            "unknown class",
            GOOD.replace("{fast: {n1", "{slow: {n1"),
            "publisher/a.yaml:7:",
            "slow",
        ),
        (
            "no expectation",
            GOOD.replace(
                "    expect:\n      - capacities: {fast: {n1: 1Gi}}\n        why: it must\n",
                "",
            ),
            "publisher/a.yaml:5:",
            "expects nothing",
        ),
        ("duplicate row", with_table, "publisher/a.yaml:6:", "twice"),
        (
            "id that is not the path",
            GOOD.replace("publisher/a", "publisher/b"),
            "publisher/a.yaml:1:",
            "must be the file's path",
        ),
    ] {
        let (output, _folder) = list_files(&[("publisher/a.yaml", &text)]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{what}: {error}");
        assert!(error.contains(place), "{what}: no {place} in {error}");
        assert!(error.contains(words), "{what}: no “{words}” in {error}");
        assert!(
            stdout(&output).is_empty(),
            "{what}: nothing belongs on standard output"
        );
    }
}

#[test]
fn a_duplicate_id_names_both_files() {
    let row = GOOD.replace(
        "\ntitle",
        "\ntable:\n  columns: [row, size]\n  rows: [[b, 1Gi]]\ntitle",
    );
    let row = row.replace("backend: {n1: 1Gi}", "backend: {n1: $size}");
    let other = GOOD.replace("publisher/a", "publisher/a/b");
    let (output, _folder) = list_files(&[("publisher/a.yaml", &row), ("publisher/a/b.yaml", &other)]);
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(
        error.contains("publisher/a/b.yaml") && error.contains("publisher/a.yaml"),
        "{error}"
    );
}

#[test]
fn files_and_folders_that_cannot_be_read_end_with_2() {
    let output = xtask(&["list", "--folder", "/nowhere/at/all"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("/nowhere/at/all: cannot be read"),
        "{}",
        stderr(&output)
    );
    let output = xtask(&["judge", "/nowhere/at/all"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("scenario.yaml"), "{}", stderr(&output));
}

#[test]
fn nothing_is_guessed_for_a_name_like_none() {
    let output = xtask(&["e2e", "nosuch"]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(
        text.contains("`nosuch`") && !text.contains("did you mean"),
        "{text}"
    );
}

#[test]
fn nothing_of_which_there_is_none_is_measured() {
    for none in [
        ["apiserver", "--objects=0"],
        ["publisher", "--objects=0"],
        ["scheduler", "--nodes=0"],
    ] {
        let output = xtask(&["bench", none[0], "--as-built", none[1]]);
        assert_eq!(output.status.code(), Some(2), "{none:?}");
    }
}

#[test]
fn an_unknown_case_ends_with_2_and_a_hint() {
    let output = xtask(&["e2e", "publisher/value/maximun"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("did you mean `publisher/value/maximum`"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn nothing_selected_ends_with_4() {
    let output = xtask(&["e2e", "scheduler/filter", "--requirement", "PUB-21"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        stderr(&output).contains("no case selected"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn wrong_use_ends_with_2() {
    for args in [
        &["dance"][..],
        &["e2e", "--patience", "0"],
        &["e2e", "--defect", "nice"],
        &["e2e", "--role", "king"],
    ] {
        assert_eq!(xtask(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn list_prints_ids_first_and_only_on_stdout() {
    let output = xtask(&["list", "publisher/value"]);
    assert_eq!(output.status.code(), Some(0));
    let ids: Vec<String> = stdout(&output)
        .lines()
        .map(|line| line.split_whitespace().next().unwrap_or_default().to_owned())
        .collect();
    assert!(ids.contains(&"publisher/value/maximum".to_owned()));
    assert!(ids.iter().all(|id| id.starts_with("publisher/value/")), "{ids:?}");
    assert!(stderr(&output).is_empty());
}

#[test]
fn explain_says_what_a_case_demands_and_does() {
    let output = xtask(&["explain", "publisher/value/maximum"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    for words in [
        "PUB-22",
        "step 2",
        "backend n1 is now 10Gi",
        "cargo xtask e2e publisher/value/maximum",
    ] {
        assert!(text.contains(words), "no “{words}” in {text}");
    }
    assert_eq!(
        xtask(&["explain", "publisher/value"]).status.code(),
        Some(2),
        "several cases are none to explain"
    );
}

#[test]
fn a_passing_run_ends_with_0_and_counts() {
    let output = xtask(&["e2e", "scheduler/filter/limit", "-v"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(
        stdout(&output).contains("\n15 passed, 0 failed\n"),
        "{}",
        stdout(&output)
    );
    assert!(
        stdout(&output).contains("pass  scheduler/filter/limit/exactly"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_failing_run_ends_with_1_explains_and_can_be_judged_again() {
    let case = "scheduler/filter/limit/maximum-refuses";
    let output = xtask(&["e2e", case, "--defect", "scheduler-ignores-maximum"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let text = stdout(&output);
    for words in [
        "FAIL",
        "SCHED-07",
        "<-- first missing link",
        "want",
        "timeline",
        "rerun   cargo xtask e2e --defect",
    ] {
        assert!(text.contains(words), "no “{words}” in {text}");
    }
    assert_eq!(
        text.lines().last(),
        Some(case),
        "failed ids stand last, alone on lines"
    );
    assert!(text.lines().count() <= 45, "too long:\n{text}");
    let folder = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("judge   cargo xtask judge "))
        .unwrap();
    let again = xtask(&["judge", folder]);
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));
    assert!(
        stdout(&again).contains("<-- first missing link"),
        "{}",
        stdout(&again)
    );
}
