//! The command line: output, streams and exit codes, especially for invalid input.

use crate::program::{run_expecting, xtask};
use std::path::Path;
use std::process::{Command, Output, Stdio};

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
fn an_invalid_case_file_is_reported_with_its_position_and_exits_with_2() {
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
        (
            "unknown requirement",
            GOOD.replace("\ntitle", "\nrequirements: [PUB-21, PUB-2I]\ntitle"),
            "publisher/a.yaml:2:24",
            "no requirement has the id `PUB-2I`; `cargo xtask list --requirements` shows all requirements; the ids of this area go from PUB-01 to",
        ),
        (
            "unknown class of a claim",
            with_pod(
                "{name: p, claims: [{class: fats, size: 1Gi}]}",
                "{placement: {p: n1}, why: w}",
            ),
            "publisher/a.yaml:6:",
            "class `fats` is not defined; correct the name, or add it to `missingClasses`",
        ),
        (
            "unknown pod",
            with_pod(
                "{name: p, claims: [{class: fast, size: 1Gi}]}",
                "{placement: {q: n1}, why: w}",
            ),
            "publisher/a.yaml:7:",
            "pod `q` is not defined; correct the name, or create it in a step before; pods: p",
        ),
        (
            "unknown pod that must be absent",
            with_pod(
                "{name: p, claims: [{class: fast, size: 1Gi}]}",
                "{claims: {p-1: absent}, why: w}",
            ),
            "publisher/a.yaml:7:",
            "claim `p-1` is not defined; correct the name, or create it in a step before; claims: p-0",
        ),
        (
            "negative size",
            with_pod(
                "{name: p, claims: [{class: fast, size: -6}]}",
                "{placement: {p: n1}, why: w}",
            ),
            "publisher/a.yaml:6:",
            "`-6` is no valid size of a PVC; write at least 1 byte",
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
            "{what}: standard output must be empty"
        );
    }
}

/// A case that creates a pod, with one expectation.
fn with_pod(pod: &str, expect: &str) -> String {
    format!(
        "id: publisher/a\ntitle: t\ncluster: {{nodes: [n1], classes: [fast]}}\nsteps:\n- id: s\n  do: [{{pod: {pod}}}]\n  \
         expect: [{expect}]\n"
    )
}

#[test]
fn a_case_file_outside_of_the_suites_is_validated_too() {
    let wrong = GOOD.replace("\ntitle", "\nrequirements: [PUB-999]\ntitle");
    let (_, folder) = list_files(&[("a.yaml", &wrong)]);
    let file = folder.path().join("a.yaml");
    let output = xtask(&["repro", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("a.yaml:2:16: no requirement has the id `PUB-999`"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_row_may_be_named_like_a_boolean() {
    let rows = "\ntable:\n  columns: [row, a]\n  rows: [[on, 1Gi], [off, 2Gi]]\ntitle";
    let text = GOOD
        .replacen("\ntitle", rows, 1)
        .replace("backend: {n1: 1Gi}", "backend: {n1: $a}");
    let (output, _folder) = list_files(&[("publisher/a.yaml", &text)]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("publisher/a/on "), "{}", stdout(&output));
}

#[test]
fn a_file_that_is_not_regular_is_an_error_and_does_not_block() {
    let (_, folder) = list_files(&[]);
    let pipe = folder.path().join("a.yaml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (pipe, folder) = (pipe.to_str().unwrap(), folder.path().to_str().unwrap());
    for (args, words) in [
        (
            ["list", "--folder", folder].as_slice(),
            "a.yaml: cannot be read: it is a pipe",
        ),
        (&["repro", pipe], "a.yaml: cannot be read: it is a pipe"),
        (&["repro", folder], "cannot be read: is a directory"),
        (&["conformance", "--sut", pipe], "a.yaml: it is a pipe"),
        (&["conformance", "--sut", folder], "is a directory"),
        (&["report", "render", pipe], "a.yaml: it is a pipe"),
    ] {
        let output = xtask(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn a_full_standard_output_exits_with_3_and_a_closed_one_is_ignored() {
    for argument in ["list", "--help", "--version"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
        let output = command.arg(argument).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(
            stderr(&output).starts_with("error: standard output can't be written: "),
            "{}",
            stderr(&output)
        );
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .arg("list")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
}

#[test]
fn the_list_of_defects_has_the_kind_of_each() {
    let output = xtask(&["selftest", "--list"]);
    let printed_text = stdout(&output);
    let of = |name: &str| {
        let mut lines = printed_text.lines().skip_while(|line| !line.starts_with(name));
        lines.nth(2).unwrap_or_default().trim().to_owned()
    };
    for (name, kind) in [
        ("publisher-ignores-maximum ", "injected as      wire: "),
        ("publisher-deletes-manual ", "injected as      mutant: "),
    ] {
        assert!(of(name).starts_with(kind), "{name}: {}", of(name));
    }
    let defects = printed_text
        .lines()
        .filter(|line| line.starts_with("    modelled on "))
        .count();
    assert_eq!(printed_text.matches("    injected as      ").count(), defects);
}

#[test]
fn a_failure_is_reported_even_if_standard_output_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let broken = [
        "e2e",
        "publisher/value/maximum",
        "--defect=publisher-ignores-maximum",
        "--simulate",
        "-v",
        "--output",
    ];
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
    command.args(broken).arg(folder.path());
    let output = command.stdout(full()).output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(
        error.matches("standard output can't be written").count(),
        1,
        "{error}"
    );
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert!(report.contains("\"verdict\": \"fail\""), "{report}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
    let output = command.arg("up").stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("its address could not be printed"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn invalid_numbers_are_rejected() {
    for (args, words) in [
        (["e2e", "--repeat", "0"].as_slice(), "--repeat"),
        (&["e2e", "--jobs", "0"], "it must be at least 1"),
        (
            &["why", "claim", "--class=fast", "--size=-6"],
            "from 1 to 2^63-1 bytes",
        ),
        (
            &["why", "claim", "--class=fast", "--size=9E+30"],
            "from 1 to 2^63-1 bytes",
        ),
        (&["why", "claim", "--class=fast", "--size=lots"], "not a size"),
        (
            &["e2e", "--requirement", "PUB-2I"],
            "no requirement has the id `PUB-2I`; `cargo xtask list --requirements`",
        ),
        (
            &["list", "--requirement", "nonsense"],
            "no requirement has the id `nonsense`",
        ),
    ] {
        let output = xtask(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn a_duplicate_id_is_reported_with_both_files() {
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
fn unreadable_files_and_folders_exit_with_2() {
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
fn an_unknown_name_without_a_similar_one_has_no_suggestion() {
    let output = xtask(&["e2e", "nosuch"]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(
        text.contains("`nosuch`") && !text.contains("did you mean"),
        "{text}"
    );
}

#[test]
fn measuring_zero_items_is_rejected() {
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
fn an_unknown_case_exits_with_2_and_a_hint() {
    let output = xtask(&["e2e", "publisher/value/maximun"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("did you mean `publisher/value/maximum`"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_uncovered_row_of_axes_is_known_beside_an_unknown_case() {
    // Pairwise coverage does not include this row, but the row can be selected by name.
    let row = "matrix/cleaner/all-nodes+distributed+immediate+differing+deleted+running+absent+downgraded";
    assert!(xtask(&["list", row]).status.success());
    let output = xtask(&["list", row, "publisher/refrsh"]);
    assert_eq!(output.status.code(), Some(2));
    let messages = stderr(&output);
    assert!(
        messages.contains("publisher/refrsh") && !messages.contains(row),
        "{messages}"
    );
}

#[test]
fn an_empty_selection_exits_with_4() {
    let output = xtask(&["e2e", "scheduler/filter", "--requirement", "PUB-21"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        stderr(&output).contains("no case matches all filters"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn invalid_arguments_exit_with_2() {
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
fn explain_prints_requirements_and_actions_of_a_case() {
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
        "several cases cannot be explained"
    );
}

#[test]
fn a_passing_run_exits_with_0_and_counts() {
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
fn a_failing_run_exits_with_1_explains_itself_and_can_be_judged_again() {
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
        "failed ids come last, one per line"
    );
    assert!(text.lines().count() <= 45, "too long:\n{text}");
    let folder = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("judge   cargo xtask judge "))
        .unwrap();
    let again = xtask(&["judge", folder]);
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));
    let again = stdout(&again);
    assert!(again.contains("<-- first missing link"), "{again}");
    let rerun = |text: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.find(|line| line.starts_with("rerun")).map(str::to_owned)
    };
    assert_eq!(rerun(&again), rerun(&text), "the command that made the run");
}

/// A driver that updates its capacity with a delay returns the old value twice after a deletion.
#[test]
fn a_call_is_repeated_until_the_driver_has_updated_its_capacity() {
    let folder = tempfile::tempdir().unwrap();
    let case = |until: &str| {
        format!(
            "id: driver/mine/later\ntitle: it counts a moment later\nrequirements: [CSI-15]\ncluster:\n  mode: distributed\n  nodes: [n1]\n  \
             classes: [fast]\n  backend: {{n1: 10Gi}}\nsteps:\n  - id: ask\n    do:\n      \
             - callDriver: {{call: GetCapacity, as: before, class: fast, segment: n1}}\n      \
             - driverFault: {{method: GetCapacity, available: 1, times: 2}}\n      \
             - callDriver: {{call: GetCapacity, as: after, class: fast, segment: n1{until}}}\n    \
             expect:\n      - responses: {{after: {{available: = before.available}}}}\n        why: it has counted\n"
        )
    };
    for (until, code, words) in [
        ("", 1, "after.available is = before.available"),
        (", until: {available: = before.available}", 0, "1 passed"),
    ] {
        let path = folder.path().join("driver/mine");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("later.yaml"), case(until)).unwrap();
        let (out, error) = run_expecting(
            code,
            &["e2e", "--simulate", "--folder", folder.path().to_str().unwrap()],
        );
        assert!(out.contains(words), "no “{words}” in {out}{error}");
    }
    let unknown = case(", until: {available: = never.available}");
    std::fs::write(folder.path().join("driver/mine/later.yaml"), unknown).unwrap();
    let (_, error) = run_expecting(2, &["e2e", "--folder", folder.path().to_str().unwrap()]);
    assert!(
        error.contains("no earlier `callDriver` has the name `never`"),
        "{error}"
    );
}
