//! `e2e --watch`: runs the cases of a file at each save, until Ctrl-C.

use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;

const CASE: &str = "id: publisher/mine/first
title: what the driver reports is published
requirements: [PUB-04]
cluster:
  nodes: [n1]
  classes: [fast]
  backend: {n1: 10Gi}
steps:
  - id: publish
    expect:
      - capacities: {fast: {n1: 10Gi}}
        why: it is what the driver says
";

/// A case with a table of two rows. Edits of the second row change the published capacity.
const TABLE: &str = "id: publisher/mine/table
title: what the driver reports is published
requirements: [PUB-04]
table:
  columns: [row, size, published]
  rows:
    - [small, 1Gi, 1Gi]
    - [large, 2Gi, 2Gi]
cluster:
  nodes: [n1]
  classes: [fast]
  backend: {n1: $size}
steps:
  - id: publish
    expect:
      - capacities: {fast: {n1: $published}}
        why: it is what the driver says
";

/// A running `e2e --watch`, with its output lines.
struct Watching {
    file: PathBuf,
    _folder: TempDir,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watching {
    fn of(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.yaml");
        std::fs::write(&file, text).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
            .args(["e2e", "--watch"])
            .arg(&file)
            .env("NO_COLOR", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Watching {
            file,
            _folder: folder,
            child,
            lines,
        }
    }

    fn save(&self, text: &str) {
        std::fs::write(&self.file, text).unwrap();
    }

    /// The verdict in the next output line of `e2e --watch`.
    fn verdict(&mut self) -> String {
        let mut lines = self.lines.by_ref().map(|line| line.unwrap());
        let line = lines.find(|line| line.contains(" passed in ")).unwrap();
        let time = line.split(" in ").nth(1).unwrap().split(" ms").next().unwrap();
        assert!(time.parse::<u64>().is_ok(), "{line}");
        line.replace(&format!(" in {time} ms"), "")
    }

    fn end(mut self) {
        let sent = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        assert_eq!(self.child.wait().unwrap().code(), Some(130));
    }
}

#[test]
fn each_save_is_evaluated_until_ctrl_c() {
    let mut watching = Watching::of(CASE);
    assert_eq!(watching.verdict(), "1 of 1 passed");
    watching.save(&CASE.replace("{n1: 10Gi}}\n        why", "{n1: 11Gi}}\n        why"));
    assert_eq!(watching.verdict(), "0 of 1 passed");
    watching.save(CASE);
    assert_eq!(watching.verdict(), "1 of 1 passed");
    watching.end();
}

#[test]
fn passed_rows_run_again_only_if_they_changed() {
    let mut watching = Watching::of(TABLE);
    assert_eq!(watching.verdict(), "2 of 2 passed");
    watching.save(&TABLE.replace("[large, 2Gi, 2Gi]", "[large, 2Gi, 3Gi]"));
    assert_eq!(watching.verdict(), "1 of 2 passed, 1 of them as before");
    // A row that failed runs again after any change of the file, even of a comment.
    watching.save(&TABLE.replace("[large, 2Gi, 2Gi]", "[large, 2Gi, 3Gi] # why"));
    assert_eq!(watching.verdict(), "1 of 2 passed, 1 of them as before");
    watching.save(&TABLE.replace("nodes: [n1]", "nodes: [n1, n2]"));
    assert_eq!(watching.verdict(), "2 of 2 passed");
    watching.end();
}
