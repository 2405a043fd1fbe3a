//! The words that a user reads: what was waited for, what became of a node, what is meant by a mistake, and what to run next.

use crate::program::ended;

/// A case of one pod on two nodes, with this table, place and bound.
fn case(table: &str, place: &str, within: &str) -> String {
    format!(
        "
id: mine/words
title: a pod goes where there is room
{table}
cluster: {{nodes: [n1, n2], classes: [fast], backend: {{n1: 20Gi, n2: 5Gi}}}}
steps:
  - id: publish
    expect:
      - capacities: {{fast: {{n1: 20Gi, n2: 5Gi}}}}
        why: one object per node
  - id: place
    do: [{{pod: {{name: app, claims: [{{class: fast, size: 10Gi}}]}}}}]
    expect:
      - placement: {{app: {place}}}
        within: {within}
        why: only n1 has 10Gi
"
    )
}

fn repro(code: i32, text: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("with a space.yaml");
    std::fs::write(&file, text).unwrap();
    let (out, error) = ended(code, &["repro", file.to_str().unwrap()]);
    if code == 1 {
        assert!(out.contains("rerun   cargo xtask repro '/"), "{out}");
    }
    (out, error)
}

#[test]
fn a_failure_says_how_long_it_waited_and_what_became_of_the_node() {
    let (out, _) = repro(1, &case("", "n2", "1 refresh"));
    for words in [
        "verdict timed out after ",
        " s (1 refresh of 100 ms, then nothing changed for ",
        "[ ] n2 is chosen for pod app: n1 was chosen, and the pod is bound there  <-- first missing link",
        "harness expectation 1 timed out",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

#[test]
fn mistakes_in_a_case_are_told_with_what_is_meant() {
    let listed = "table:\n  - {row: a, place: n1}\n";
    let maps = "table:\n  columns: [row, place]\n  rows: [{row: a, place: n1}]\n";
    for (text, words) in [
        (
            case("", "pending", "10s"),
            ":16: node `pending` is not defined; write `none` for a pod that the scheduler refuses",
        ),
        (
            case("", "anywhere", "10s"),
            "write `any` for a pod that goes to some node; nodes: n1, n2",
        ),
        (
            case(listed, "$place", "10s"),
            "a table has the keys `columns` and `rows`; write {columns: [row, size],",
        ),
        (
            case(maps, "$place", "10s"),
            "a row of a table is a list of cells in the order of `columns`; write [small, 1Gi]",
        ),
    ] {
        let (_, error) = repro(2, &text);
        let words = words.trim_start_matches(":16: ");
        assert!(error.contains(words), "{words}: {error}");
        assert!(error.contains("with a space.yaml:"), "it has a place: {error}");
    }
    let (_, error) = ended(2, &["e2e", "--defect=publisher-ignores-maxima"]);
    assert!(
        error
            .contains("unknown defect `publisher-ignores-maxima`; did you mean `publisher-ignores-maximum`?"),
        "{error}"
    );
}

#[test]
fn a_case_is_explained_with_what_it_expects_and_without_repetitions() {
    let (out, _) = ended(0, &["explain", "publisher/value/maximum"]);
    assert!(
        out.contains("expect  capacities: {fast: {n1: {capacity: 10Gi, maximum: 4Gi}}}"),
        "{out}"
    );
    assert!(
        out.contains("because the pool is fragmented, and the driver says so"),
        "{out}"
    );
    let actions: Vec<&str> = out.lines().filter(|line| line.starts_with("    do ")).collect();
    assert_eq!(
        actions,
        [
            "    do      backend n1 is now 10Gi (largest volume 3Gi)",
            "    do      the driver is told: GetCapacity answers 10737418240 (maximum 0)",
            "    do      backend n1 is now 10Gi",
            "    do      the driver no longer does as zero says",
            "    do      backend n1 is now 10Gi (largest volume 5Gi)",
        ],
        "{out}"
    );
}

#[test]
fn a_run_that_is_judged_again_is_rerun_with_its_defect() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let report = report.to_str().unwrap();
    let case = "publisher/value/maximum";
    let run = [
        "e2e",
        case,
        "--defect",
        "publisher-ignores-maximum",
        "--output",
        report,
    ];
    ended(1, &run);
    let (out, _) = ended(1, &["judge", &format!("{report}/cases/publisher.value.maximum")]);
    assert!(
        out.contains(&format!(
            "rerun   cargo xtask e2e --defect=publisher-ignores-maximum {case}"
        )),
        "{out}"
    );
}
