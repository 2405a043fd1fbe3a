//! `e2e --watch`: the cases of a file again at each save, until Ctrl-C.

use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Command, Stdio};

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

/// The first line that says how many passed.
fn verdict(lines: &mut std::io::Lines<BufReader<ChildStdout>>) -> String {
    let mut lines = lines.map(|line| line.unwrap());
    lines.find(|line| line.contains(" passed in ")).unwrap()
}

#[test]
fn each_save_is_judged_and_ctrl_c_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("first.yaml");
    std::fs::write(&file, CASE).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args(["e2e", "--watch"])
        .arg(&file)
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(verdict(&mut lines).starts_with("1 of 1 passed"));
    std::fs::write(
        &file,
        CASE.replace("{n1: 10Gi}}\n        why", "{n1: 11Gi}}\n        why"),
    )
    .unwrap();
    assert!(verdict(&mut lines).starts_with("0 of 1 passed"));
    std::fs::write(&file, CASE).unwrap();
    assert!(verdict(&mut lines).starts_with("1 of 1 passed"));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
