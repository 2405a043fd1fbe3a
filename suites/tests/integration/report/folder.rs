//! The folder of a report can be moved as a whole, and merging shards includes their stored runs.

use std::path::{Path, PathBuf};

use suites::report::{CaseRecord, CaseVerdict, Report, ShardsRecord, merge, remove_runs, write_all};
use tempfile::TempDir;

use super::{case, every_verdict, exists, read, report, write_all_formats};

/// Creates the files of a stored run that a report requires.
fn run(root: &Path, name: &str) -> PathBuf {
    let folder = root.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["journal.jsonl", "scenario.yaml", "publisher.log"] {
        std::fs::write(folder.join(file), name).unwrap();
    }
    folder
}

#[test]
fn a_report_survives_a_round_trip() {
    let report = every_verdict();
    let folder = write_all_formats(&report);
    assert_eq!(Report::load(&folder.path().join("report.json")).unwrap(), report);
    for name in [
        "report.html",
        "requirements.html",
        "junit.xml",
        "report.md",
        "badge.json",
        "badge.svg",
    ] {
        assert!(exists(&folder, name), "{name}");
    }
}

#[test]
fn paths_in_the_file_are_relative_to_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut failed = case("a/b/c", "fail");
    failed.folder = Some(run(&folder.path().join("cases"), "a.b.c"));
    write_all(&report(vec![failed]), folder.path()).unwrap();
    let text = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert!(text.contains("\"folder\": \"cases/a.b.c\""), "{text}");
    let loaded = Report::load(&folder.path().join("report.json")).unwrap();
    let folder = loaded.cases[0].folder.clone().unwrap();
    assert!(folder.join("journal.jsonl").is_file(), "{}", folder.display());
}

#[test]
fn merged_shards_include_their_runs() {
    let shards = tempfile::tempdir().unwrap();
    let mut records = Vec::new();
    for (part, name) in [(1, "one"), (2, "two")] {
        let home = shards.path().join(name);
        let mut failed = case(&format!("a/b/{name}"), "fail");
        failed.folder = Some(run(&home.join("cases"), &format!("a.b.{name}")));
        let cases = vec![failed, case(&format!("a/c/{name}"), "pass")];
        let shard = shard(part, 2, cases);
        write_all(&shard, &home).unwrap();
        records.push(home.join("report.json"));
    }
    let output = tempfile::tempdir().unwrap();
    write_all(&merge(&records).unwrap(), output.path()).unwrap();
    drop(shards);
    let merged = Report::load(&output.path().join("report.json")).unwrap();
    assert_eq!(merged.count(CaseVerdict::Fail), 2);
    assert!(
        merged.partial.iter().all(|reason| !reason.starts_with("shard")),
        "{:?}",
        merged.partial
    );
    for name in ["one", "two"] {
        let file = format!("cases/a.b.{name}/publisher.log");
        assert!(exists(&output, &file), "{file}");
    }
}

fn shard(part: usize, of: usize, cases: Vec<CaseRecord>) -> Report {
    let mut report = report(cases);
    report.limits.clear();
    report.shards = Some(ShardsRecord {
        of,
        parts: vec![part],
        selection: "of one run".to_owned(),
        run: None,
        is_joined: false,
    });
    report.finalize();
    report
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("report.json")
}

#[test]
fn shards_of_different_runs_are_not_merged() {
    let first = write_all_formats(&shard(1, 2, vec![case("a/b/c", "pass")]));
    let second = || shard(2, 2, vec![case("a/b/d", "pass")]);
    type Change = fn(&mut Report);
    let changes: [(&str, Change); 9] = [
        ("a setting is", |it| it.settings.patience = 3.0),
        ("the system is", |it| it.system.version = "2".to_owned()),
        ("the version of the harness is \"9\"", |it| {
            it.harness = "9".to_owned();
        }),
        ("the number of shards is 3", |it| {
            it.shards.as_mut().unwrap().of = 3;
        }),
        ("its run selected different cases", |it| {
            it.shards.as_mut().unwrap().selection = "of another run".to_owned();
        }),
        ("its run began at 2026-01-03T03:04:05Z", |it| {
            it.started = "2026-01-03T03:04:05Z".to_owned();
        }),
        ("the id of the run is Some(\"77\")", |it| {
            it.shards.as_mut().unwrap().run = Some("77".to_owned());
        }),
        ("shard 1/2 is in ", |it| {
            it.shards.as_mut().unwrap().parts = vec![1];
        }),
        ("the report of a whole run", |it| it.shards = None),
    ];
    for (words, change) in changes {
        let mut second = second();
        change(&mut second);
        let second = write_all_formats(&second);
        let error = merge(&[file(&first), file(&second)]).unwrap_err().to_string();
        assert!(error.contains(words), "no “{words}” in {error}");
        assert!(error.starts_with(&file(&second).display().to_string()), "{error}");
    }
}

#[test]
fn shards_with_one_run_id_are_merged_regardless_of_their_start_times() {
    let [first, second] = [1, 2].map(|part| {
        let mut report = shard(part, 2, vec![case(&format!("a/b/{part}"), "pass")]);
        report.started = format!("2026-01-0{part}T23:59:59Z");
        report.shards.as_mut().unwrap().run = Some("77".to_owned());
        write_all_formats(&report)
    });
    let all = merge(&[file(&first), file(&second)]).unwrap();
    assert_eq!((all.partial.len(), all.cases.len()), (0, 2));
    assert_eq!(all.started, "2026-01-01T23:59:59Z");
}

#[test]
fn a_merge_lists_missing_shards_and_accepts_them_later() {
    let one = |part: usize| write_all_formats(&shard(part, 3, vec![case(&format!("a/b/{part}"), "pass")]));
    let (first, second, third) = (one(1), one(2), one(3));
    let some = merge(&[file(&third), file(&first)]).unwrap();
    assert_eq!(some.partial, ["shard 2/3 is missing"]);
    assert_eq!(some.shards.as_ref().unwrap().parts, [1, 3]);
    let some = write_all_formats(&some);
    let page = read(&some, "report.html");
    assert!(
        page.contains("This result is partial") && page.contains("shard 2/3 is missing"),
        "{page}"
    );
    assert!(read(&some, "badge.json").contains("(partial)"));
    assert!(read(&some, "report.md").contains("- partial: shard 2/3 is missing"));
    let all = merge(&[file(&some), file(&second)]).unwrap();
    assert_eq!((all.partial.len(), all.shards, all.cases.len()), (0, None, 3));
}

#[test]
fn files_that_are_no_report_are_not_merged() {
    let (first, second) = (
        write_all_formats(&shard(1, 2, Vec::new())),
        write_all_formats(&every_verdict()),
    );
    std::fs::write(file(&second), "{}").unwrap();
    let error = merge(&[file(&first), file(&second)]).unwrap_err().to_string();
    assert!(error.contains("name the report.json of a run"), "{error}");
}

#[test]
fn a_missing_run_is_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let mut failed = case("a/b/c", "fail");
    failed.folder = Some(folder.path().join("cases/gone"));
    write_all(&report(vec![failed]), folder.path()).unwrap();
    let loaded = Report::load(&folder.path().join("report.json")).unwrap();
    assert_eq!(loaded.cases[0].folder, None);
}

#[test]
fn only_folders_of_runs_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let cases = folder.path().join("cases");
    run(&cases, "a.b.c");
    std::fs::create_dir_all(cases.join("publisher")).unwrap();
    std::fs::write(cases.join("publisher/x.yaml"), "id: publisher/x").unwrap();
    remove_runs(folder.path()).unwrap();
    assert!(!exists(&folder, "cases/a.b.c"));
    assert!(exists(&folder, "cases/publisher/x.yaml"), "other files stay");
    remove_runs(&folder.path().join("not-there")).unwrap();
}
