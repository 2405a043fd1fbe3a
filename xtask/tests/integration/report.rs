//! Reports of a run on the command line and in workflows. The formats themselves are tested in suites.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const FAILING: &str = "scheduler/filter/limit/maximum-refuses";
const PASSING: &str = "scheduler/filter/limit/exactly";

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
    command
        .args(args)
        .env("NO_COLOR", "1")
        .env_remove("GITHUB_ACTIONS");
    command
}

fn xtask(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Shorter timeouts make the tests faster, and are longer than the time until the expected events.
const PATIENCE: &str = "--patience=0.3";

/// Runs a case that fails and a case that passes.
fn broken_run(more: &[&str]) -> (Output, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    let mut args = vec![
        "e2e",
        FAILING,
        PASSING,
        "--defect",
        "scheduler-ignores-maximum",
        PATIENCE,
        "--output",
        &path,
    ];
    args.extend(more);
    (xtask(&args), folder)
}

fn record(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("report.json")).unwrap()).unwrap()
}

/// The folder of a case's run, according to the report.
fn folder_of(record: &Value, case: &str) -> Option<String> {
    let cases = record["cases"].as_array().unwrap();
    let case = cases.iter().find(|it| it["id"] == case).unwrap();
    case["folder"].as_str().map(str::to_owned)
}

#[test]
fn runs_that_did_not_pass_are_stored_and_judge_agrees() {
    let (output, folder) = broken_run(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let record = record(folder.path());
    assert_eq!(folder_of(&record, PASSING), None);
    let run = folder_of(&record, FAILING).unwrap();
    assert_eq!(run, "cases/scheduler.filter.limit.maximum-refuses");
    let run = folder.path().join(run);
    let judged = xtask(&["judge", run.to_str().unwrap()]);
    assert_eq!(judged.status.code(), Some(1), "{}", stderr(&judged));
    // `judge` prints the same explanation as the run, except for paths and the commands at the end.
    let printed = |text: &str| {
        let (_, after) = text.split_once("\n  verdict").unwrap();
        let (before, _) = after.split_once("\n  rerun").unwrap();
        before.to_owned()
    };
    let cases = record["cases"].as_array().unwrap();
    let explanation = cases
        .iter()
        .find_map(|case| case["explanation"].as_str())
        .unwrap();
    assert_eq!(printed(explanation), printed(&stdout(&judged)));
}

#[test]
fn passed_runs_are_stored_on_request_and_judged_as_passed() {
    let (_, folder) = broken_run(&["--keep-passed"]);
    let run = folder_of(&record(folder.path()), PASSING).unwrap();
    let judged = xtask(&["judge", folder.path().join(run).to_str().unwrap()]);
    assert_eq!(judged.status.code(), Some(0), "{}", stderr(&judged));
    assert_eq!(stdout(&judged), format!("pass  {PASSING}\n"));
    let output = xtask(&["e2e", PASSING, "--keep-passed"]);
    assert_eq!(output.status.code(), Some(2), "there is no output folder");
}

#[test]
fn a_new_run_removes_the_stored_runs_of_the_previous_one() {
    let (_, folder) = broken_run(&[]);
    let path = folder.path().to_str().unwrap();
    let output = xtask(&["e2e", PASSING, "--output", path]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let left: Vec<_> = std::fs::read_dir(folder.path().join("cases")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_workflow_gets_annotations_and_a_summary_but_no_commands_of_programs() {
    let folder = tempfile::tempdir().unwrap();
    let summary = folder.path().join("summary.md");
    let args = [
        "e2e",
        FAILING,
        PASSING,
        "--defect",
        "scheduler-ignores-maximum",
        PATIENCE,
    ];
    let output = command(&args)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .unwrap();
    let text = stdout(&output);
    let token = text
        .lines()
        .next()
        .unwrap()
        .strip_prefix("::stop-commands::")
        .unwrap();
    let resumed = format!("\n::{token}::\n");
    let (muted, after) = text.split_once(&resumed).unwrap();
    assert!(
        muted.contains("<-- first missing link") && !muted.contains("::error"),
        "{muted}"
    );
    let errors: Vec<&str> = after.lines().filter(|line| line.starts_with("::error")).collect();
    assert_eq!(errors.len(), 1, "{after}");
    // The path is absolute, because the test runs in the folder of its package.
    assert!(errors[0].contains("scheduler/filter/limit.yaml,line="), "{after}");
    assert!(
        errors[0].contains(",title=fail%3A scheduler/filter/limit/maximum-refuses::"),
        "{after}"
    );
    let summary = std::fs::read_to_string(&summary).unwrap();
    assert!(summary.contains("| ❌ | scheduler/filter | 1 | 1 |"), "{summary}");
}

#[test]
fn outside_of_github_no_workflow_command_is_printed() {
    let (output, _folder) = broken_run(&[]);
    assert!(!stdout(&output).contains("::"), "{}", stdout(&output));
}

#[test]
fn merged_shards_equal_the_full_run_and_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut records = Vec::new();
    for shard in ["1/2", "2/2"] {
        let home = place(&shard.replace('/', "-"));
        let args = [
            "e2e",
            "scheduler/filter/limit",
            "--defect",
            "scheduler-ignores-maximum",
            PATIENCE,
        ];
        xtask(&[&args[..], &["--shard", shard, "--output", &home]].concat());
        records.push(format!("{home}/report.json"));
    }
    let whole = place("whole");
    let merged = xtask(&["report", "merge", &records[0], &records[1], "--output", &whole]);
    assert_eq!(merged.status.code(), Some(1), "{}", stderr(&merged));
    assert!(
        stdout(&merged).contains("10 passed, 5 failed"),
        "{}",
        stdout(&merged)
    );
    let text = stdout(&merged);
    let last: Vec<&str> = text.lines().rev().take(5).collect();
    assert!(last.contains(&FAILING), "failed ids come last: {text}");
    let record = record(Path::new(&whole));
    assert_eq!(record["cases"].as_array().unwrap().len(), 15);
    let run = Path::new(&whole).join(folder_of(&record, FAILING).unwrap());
    assert_eq!(xtask(&["judge", run.to_str().unwrap()]).status.code(), Some(1));
    let output = xtask(&["report", "merge", &records[0], &records[0], "--output", &whole]);
    assert_eq!(output.status.code(), Some(2), "a shard is given twice");
    assert!(
        stderr(&output).contains("shard 1/2 is in "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_merge_with_a_missing_shard_is_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let run = |case: &str, shard: &str, home: &str| {
        let args = ["e2e", case, "--shard", shard, "--output", &place(home)];
        let output = xtask(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        place(&format!("{home}/report.json"))
    };
    let first = run("scheduler/filter/limit", "1/2", "first");
    let whole = place("whole");
    let merged = xtask(&["report", "merge", &first, "--output", &whole]);
    assert_eq!(merged.status.code(), Some(6), "{}", stdout(&merged));
    assert!(
        stdout(&merged).contains("partial: shard 2/2 is missing"),
        "{}",
        stdout(&merged)
    );
    assert!(
        stderr(&merged).contains("missing shards: 2/2"),
        "{}",
        stderr(&merged)
    );
    let other = run("scheduler/filter/limit/exactly", "1/1", "other");
    let merged = xtask(&["report", "merge", &first, &other, "--output", &whole]);
    assert_eq!(merged.status.code(), Some(2));
    assert!(
        stderr(&merged).contains("the number of shards is 1"),
        "{}",
        stderr(&merged)
    );
}

#[test]
fn all_formats_are_rendered_again_from_the_report() {
    let (_, folder) = broken_run(&[]);
    let elsewhere = tempfile::tempdir().unwrap();
    let json = folder.path().join("report.json");
    let args = [
        "report",
        "render",
        json.to_str().unwrap(),
        "--output",
        elsewhere.path().to_str().unwrap(),
    ];
    let output = xtask(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for name in [
        "report.json",
        "report.html",
        "junit.xml",
        "report.md",
        "badge.json",
        "badge.svg",
    ] {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read(folder.path()), read(elsewhere.path()), "{name}");
    }
    let page = std::fs::read_to_string(elsewhere.path().join("report.html")).unwrap();
    assert!(page.contains("class=\"diagram\""), "the journal was copied");
    let missing = xtask(&["report", "render", "/nowhere/report.json"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn the_schema_is_printed() {
    let output = xtask(&["report", "schema"]);
    let schema: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        schema["$defs"]["CaseRecord"]["properties"]["id"]["type"],
        "string"
    );
}

#[test]
fn a_finding_is_reported_once_and_has_an_exit_code_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let args = [
        "e2e",
        "publisher/objects/taken-over",
        "--defect",
        "publisher-appends-owner",
        PATIENCE,
    ];
    let output = xtask(&[&args[..], &["--output", &place("wrong")]].concat());
    assert_eq!(output.status.code(), Some(1), "a failure takes precedence");
    let printed = "finding: publisher api-invalid: update csistoragecapacities is refused with 422 (metadata.ownerReferences)\n";
    assert_eq!(stdout(&output).matches(printed).count(), 1, "{}", stdout(&output));
    let finding = record(Path::new(&place("wrong")))["findings"][0].clone();
    assert_eq!(finding["cases"], 2, "{finding}");

    let part = |shard: &str| {
        let home = place(&shard.replace('/', "-"));
        let output = xtask(&[
            "e2e",
            "scheduler/filter/limit",
            "--shard",
            shard,
            "--output",
            &home,
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        format!("{home}/report.json")
    };
    let parts = [part("1/2"), part("2/2")];
    for part in &parts {
        let text = std::fs::read_to_string(part).unwrap();
        let mut record: Value = serde_json::from_str(&text).unwrap();
        record["findings"] = serde_json::json!([finding]);
        std::fs::write(part, record.to_string()).unwrap();
    }
    let whole = place("whole");
    let merged = xtask(&["report", "merge", &parts[0], &parts[1], "--output", &whole]);
    assert_eq!(merged.status.code(), Some(7), "{}", stdout(&merged));
    let merged = record(Path::new(&whole))["findings"].clone();
    assert_eq!(
        (&merged[0]["cases"], merged.as_array().unwrap().len()),
        (&4.into(), 1)
    );
    for file in ["report.html", "report.md", "junit.xml"] {
        let text = std::fs::read_to_string(Path::new(&whole).join(file)).unwrap();
        assert!(text.contains("is refused with 422"), "{file}: {text}");
    }
}
