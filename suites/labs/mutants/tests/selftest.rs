//! `selftest` as somebody types it: what it prints, what it writes, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::process::Command;

const CASE: &str = "scheduler/filter/limit/exactly";

fn selftest(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_mutants"))
        .arg("selftest")
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn the_list_says_what_each_defect_does_and_runs_nothing() {
    let (code, out, error) = selftest(&["--list"]);
    assert_eq!(code, 0, "{error}");
    assert!(
        out.contains(
            "scheduler-off-by-one  It demands one byte more than is requested\n    modelled on      SCHED-10,"
        ),
        "{out}"
    );
    assert!(
        out.contains(&format!(
            "    detected by      {CASE}\n    expected failure a node is chosen"
        )),
        "{out}"
    );
}

#[test]
fn a_claim_that_holds_ends_well_and_leaves_the_failure_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let (code, out, error) = selftest(&["--defect=scheduler-off-by-one", CASE, "--output", output]);
    assert_eq!(code, 0, "{out}{error}");
    assert!(
        out.starts_with("caught     scheduler-off-by-one  by   1 of 1"),
        "{out}"
    );
    assert!(
        out.contains("1 of 1 defects detected as expected, 1 of 1 cases pass without a defect, 0 problems"),
        "{out}"
    );
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("failures/scheduler-off-by-one.txt").contains("<-- first missing link"));
    assert!(read("selftest.html").contains("scheduler-off-by-one"));
    assert!(read("selftest.md").contains("0 problems") || read("selftest.md").contains("the cases bite"));
    let json: serde_json::Value = serde_json::from_str(&read("selftest.json")).unwrap();
    assert_eq!(json["defects"][0]["caughtBy"][0], CASE);
}

#[test]
fn a_defect_that_nothing_selected_is_there_for_is_nothing_to_do_and_a_wrong_name_is_wrong_use() {
    let (code, _, error) = selftest(&["--defect=scheduler-off-by-one", "publisher/value/maximum"]);
    assert_eq!(code, 4, "{error}");
    assert!(
        error.contains("none of these cases is there for that defect"),
        "{error}"
    );
    let (code, _, error) = selftest(&["--defect=scheduler-sleeps"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("unknown defect `scheduler-sleeps`"), "{error}");
}

/// A manifest of a publisher that is no publisher.
fn manifest(folder: &tempfile::TempDir) -> String {
    let path = folder.path().join("sut.yaml");
    let text = "name: idle\nfeatures: [publisher.central]\nroles: {publisher: {argv: [sleep, \"1000\"]}}\n";
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn programs_of_others_are_held_against_what_needs_none_of_their_source_code() {
    let folder = tempfile::tempdir().unwrap();
    let sut = manifest(&folder);
    let (code, out, error) = selftest(&["--sut", &sut, "--list"]);
    assert_eq!(code, 0, "{error}");
    assert!(out.contains("publisher-ignores-maximum  "), "{out}");
    for other in [
        "publisher-retries-at-once",
        "scheduler-ignores-maximum",
        "driver-understates",
    ] {
        assert!(!out.contains(other), "{other} in:\n{out}");
    }
    for (defect, why) in [
        ("--defect=publisher-retries-at-once", "a mistake in source code"),
        (
            "--defect=scheduler-ignores-maximum",
            "none of them plays that role",
        ),
    ] {
        let (code, _, error) = selftest(&["--sut", &sut, defect]);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_program_that_fails_in_good_health_shows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let case = "publisher/value/maximum";
    let defect = "--defect=publisher-ignores-maximum";
    let (code, out, error) = selftest(&["--sut", &manifest(&folder), defect, case]);
    assert_eq!(code, 1, "{out}{error}");
    assert!(
        out.contains(&format!("PROBLEM  {case}  fails without any defect")),
        "{out}"
    );
    assert!(out.contains("0 of 1 cases pass without a defect"), "{out}");
}
