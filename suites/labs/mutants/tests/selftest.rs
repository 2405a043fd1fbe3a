//! The `selftest` command: its output, the files that it writes, and its exit codes.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

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
fn list_describes_the_defects_without_running_them() {
    let (code, out, error) = selftest(&["--list"]);
    assert_eq!(code, 0, "{error}");
    assert!(
        out.contains(
            "scheduler-off-by-one  The scheduler requires one byte more than the claim requests\n    modelled on      SCHED-10,"
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
fn a_detected_defect_passes_and_its_failure_is_written() {
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
    assert!(
        read("selftest.md").contains("0 problems") || read("selftest.md").contains("all defects detected")
    );
    let json: serde_json::Value = serde_json::from_str(&read("selftest.json")).unwrap();
    assert_eq!(json["defects"][0]["caughtBy"][0], CASE);
}

#[test]
fn a_defect_without_selected_cases_selects_nothing_and_an_unknown_name_is_a_usage_error() {
    let (code, _, error) = selftest(&["--defect=scheduler-off-by-one", "publisher/value/maximum"]);
    assert_eq!(code, 4, "{error}");
    assert!(
        error.contains("none of these cases is listed for that defect"),
        "{error}"
    );
    let (code, _, error) = selftest(&["--defect=scheduler-sleeps"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("unknown defect `scheduler-sleeps`"), "{error}");
}

/// Writes a manifest whose publisher only sleeps, and returns the path.
fn manifest(folder: &tempfile::TempDir) -> String {
    let path = folder.path().join("sut.yaml");
    let text = "name: idle\nfeatures: [publisher.central]\nroles: {publisher: {argv: [sleep, \"1000\"]}}\n";
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn traffic_defects_apply_to_the_programs_of_a_manifest() {
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
        (
            "--defect=publisher-retries-at-once",
            "the defect is a mutant of the references' source code",
        ),
        (
            "--defect=scheduler-ignores-maximum",
            "none of the programs has the role of the defect",
        ),
    ] {
        let (code, _, error) = selftest(&["--sut", &sut, defect]);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_program_that_fails_without_a_defect_detects_nothing() {
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
