//! The folder of a report can be moved as a whole, and shards are joined with the runs that they have kept.

use std::path::{Path, PathBuf};

use suites::report::{Report, forget_runs, merge, write_all};

use crate::{case, every_verdict, exists, report, written};

/// A folder of a run, as far as a report looks at it.
fn run(root: &Path, name: &str) -> PathBuf {
    let folder = root.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["journal.jsonl", "scenario.yaml", "publisher.log"] {
        std::fs::write(folder.join(file), name).unwrap();
    }
    folder
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let report = every_verdict();
    let folder = written(&report);
    assert_eq!(Report::load(&folder.path().join("report.json")).unwrap(), report);
    for name in ["report.html", "junit.xml", "report.md", "badge.json", "badge.svg"] {
        assert!(exists(&folder, name), "{name}");
    }
}

#[test]
fn paths_in_the_file_start_from_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut failed = case("a/b/c", "fail");
    failed.folder = Some(run(&folder.path().join("cases"), "a.b.c"));
    write_all(&report(vec![failed]), folder.path()).unwrap();
    let text = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert!(text.contains("\"folder\": \"cases/a.b.c\""), "{text}");
    let loaded = Report::load(&folder.path().join("report.json")).unwrap();
    let kept = loaded.cases[0].folder.clone().unwrap();
    assert!(kept.join("journal.jsonl").is_file(), "{}", kept.display());
}

#[test]
fn merged_shards_bring_their_runs_along() {
    let shards = tempfile::tempdir().unwrap();
    let mut records = Vec::new();
    for name in ["one", "two"] {
        let home = shards.path().join(name);
        let mut failed = case(&format!("a/b/{name}"), "fail");
        failed.folder = Some(run(&home.join("cases"), &format!("a.b.{name}")));
        let mut shard = report(vec![failed, case(&format!("a/c/{name}"), "pass")]);
        shard.partial = vec![format!("shard {name}/2")];
        write_all(&shard, &home).unwrap();
        records.push(home.join("report.json"));
    }
    let output = tempfile::tempdir().unwrap();
    write_all(&merge(&records).unwrap(), output.path()).unwrap();
    drop(shards);
    let merged = Report::load(&output.path().join("report.json")).unwrap();
    assert_eq!(merged.count("fail"), 2);
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

#[test]
fn shards_of_different_things_are_not_joined() {
    let (one, mut other) = (
        report(vec![case("a/b/c", "pass")]),
        report(vec![case("a/b/d", "pass")]),
    );
    let twice = written(&one);
    other.settings.patience = 3.0;
    let (first, second) = (written(&one), written(&other));
    let file = |folder: &tempfile::TempDir| folder.path().join("report.json");
    let error = merge(&[file(&first), file(&second)]).unwrap_err().to_string();
    assert!(error.contains("a setting"), "{error}");
    let error = merge(&[file(&first), file(&twice)]).unwrap_err().to_string();
    assert!(error.contains("a/b/c was in a record before"), "{error}");
    std::fs::write(file(&second), "{}").unwrap();
    let error = merge(&[file(&first), file(&second)]).unwrap_err().to_string();
    assert!(error.contains("name the report.json of a run"), "{error}");
}

#[test]
fn a_run_that_is_gone_is_not_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut failed = case("a/b/c", "fail");
    failed.folder = Some(folder.path().join("cases/gone"));
    write_all(&report(vec![failed]), folder.path()).unwrap();
    let loaded = Report::load(&folder.path().join("report.json")).unwrap();
    assert_eq!(loaded.cases[0].folder, None);
}

#[test]
fn only_runs_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let cases = folder.path().join("cases");
    run(&cases, "a.b.c");
    std::fs::create_dir_all(cases.join("publisher")).unwrap();
    std::fs::write(cases.join("publisher/x.yaml"), "id: publisher/x").unwrap();
    forget_runs(folder.path()).unwrap();
    assert!(!exists(&folder, "cases/a.b.c"));
    assert!(
        exists(&folder, "cases/publisher/x.yaml"),
        "somebody's own files stay"
    );
    forget_runs(&folder.path().join("not-there")).unwrap();
}
