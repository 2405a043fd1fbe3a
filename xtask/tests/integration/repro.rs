//! `repro` and `rerun`: cases of one file, comparison of two systems, `--keep`, and running failed cases again.

use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Serving, run_expecting, text, xtask};
use k8s_openapi::api::core::v1::Pod;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};

/// A bug report in which the maximum volume size is smaller than the free capacity.
const REPORT: &str = "\
id: mine/fragmented
title: a claim does not go where only small pieces are left
table:
  columns: [row, size, on]
  rows:
    - [small, 2Gi, n1]
    - [large, 8Gi, none]
cluster:
  nodes: [n1]
  classes: [fast]
  backend: {n1: {capacity: 10Gi, maximum: 4Gi}}
steps:
  - id: publish
    expect:
      - capacities: {fast: {n1: {capacity: 10Gi, maximum: 4Gi}}}
        why: the driver says so
  - id: place
    do: [{pod: {name: p, claims: [{class: fast, size: $size}]}}]
    expect:
      - placement: {p: $on}
        why: 4Gi is the largest piece
";

struct File(tempfile::TempDir);

impl File {
    fn of(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bug.yaml"), text).unwrap();
        File(folder)
    }

    /// The bug report with a unique id, so that tests do not share the folder of a run.
    fn with_id_word(word: &str) -> Self {
        Self::of(&REPORT.replace("fragmented", word))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("bug.yaml")
    }

    fn name(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    fn sibling_path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn a_user_file_runs_and_one_row_can_be_selected() {
    let file = File::of(REPORT);
    let (out, _) = run_expecting(0, &["repro", &file.name(), "-v"]);
    assert!(out.contains("2 passed, 0 failed"), "{out}");
    assert!(out.contains("partial: only the cases of"), "{out}");
    let (out, _) = run_expecting(0, &["repro", &file.name(), "large", "-v"]);
    assert!(
        out.contains("1 passed") && out.contains("mine/fragmented/large"),
        "{out}"
    );
}

#[test]
fn a_repeated_run_stops_at_the_first_failure() {
    let file = File::with_id_word("repeated");
    let (_, error) = run_expecting(0, &["repro", &file.name(), "large", "--repeat=2", "--simulate"]);
    assert!(
        error.contains("run 1 of 2") && error.contains("run 2 of 2"),
        "{error}"
    );
    let defect = "--defect=publisher-ignores-maximum";
    let (_, error) = run_expecting(
        1,
        &["repro", &file.name(), "large", "--repeat=3", "--simulate", defect],
    );
    assert!(
        error.contains("run 1 of 3") && !error.contains("run 2 of 3"),
        "{error}"
    );
}

#[test]
fn judge_prints_the_timeline_of_a_passed_case() {
    let file = File::with_id_word("timeline");
    let output = file.sibling_path("out");
    let output = ["--simulate", "--keep-passed", "--output", &output];
    run_expecting(0, &[&["repro", &file.name(), "large"], &output[..]].concat());
    let run = file.sibling_path("out/cases/mine.timeline.large");
    let (out, _) = run_expecting(0, &["judge", &run, "--timeline"]);
    for words in [
        "create by harness: pods p",
        "GetCapacity",
        "pass  mine/timeline/large",
    ] {
        assert!(out.contains(words), "no “{words}” in:\n{out}");
    }
}

#[test]
fn a_failure_is_explained_and_its_rerun_command_reproduces_it() {
    let file = File::with_id_word("told-twice");
    let (out, _) = run_expecting(
        1,
        &[
            "repro",
            &file.name(),
            "small",
            "--defect=publisher-ignores-maximum",
        ],
    );
    for part in [
        "why     the driver says so",
        "want                got",
        "<-- first missing link",
        "bug.yaml:13",
    ] {
        assert!(out.contains(part), "no “{part}” in:\n{out}");
    }
    let rerun = out
        .lines()
        .find_map(|line| line.trim().strip_prefix("rerun   cargo xtask "));
    let words: Vec<&str> = rerun.unwrap().split(' ').collect();
    let (again, _) = run_expecting(1, &words);
    assert!(again.contains("0 passed, 1 failed"), "{again}");
    assert!(again.trim_end().ends_with("mine/told-twice/small"), "{again}");
    // The first run printed a `judge` command, and the output of `judge` contains the command that repeats the run.
    let judge = again
        .lines()
        .find_map(|line| line.trim().strip_prefix("judge   cargo xtask judge "));
    let stored = judge.unwrap();
    let (judged, _) = run_expecting(1, &["judge", stored]);
    let rerun = judged
        .lines()
        .find_map(|line| line.trim().strip_prefix("rerun   cargo xtask "));
    let words: Vec<&str> = rerun.unwrap().split(' ').collect();
    assert_eq!(words[..2], ["repro", "--defect=publisher-ignores-maximum"]);
    let (broken, _) = run_expecting(1, &words);
    assert!(broken.contains("0 passed, 1 failed"), "{broken}");
    // The scenario.yaml of the stored run is a case file, which passes without the defect.
    let (healthy, _) = run_expecting(0, &["repro", &format!("{stored}/scenario.yaml")]);
    assert!(healthy.contains("1 passed"), "{healthy}");
}

#[test]
fn an_invalid_file_exits_with_2_and_its_position() {
    for (text, words) in [
        (
            REPORT.replace("backend:", "bakend:"),
            "bug.yaml:11:3: in row `small`: unknown field `bakend`",
        ),
        (
            REPORT.replace("on: ", "").replace("{p: $on}", "{p: n9}"),
            "bug.yaml:",
        ),
        ("id: [".to_owned(), "bug.yaml:"),
    ] {
        let file = File::of(&text);
        let (_, error) = run_expecting(2, &["repro", &file.name()]);
        assert!(error.contains(words), "{error}");
    }
    let file = File::of(REPORT);
    let (_, error) = run_expecting(2, &["repro", &file.name(), "huge"]);
    assert!(
        error.contains("has no case `huge`; its cases: mine/fragmented/small, mine/fragmented/large"),
        "{error}"
    );
    let (_, error) = run_expecting(2, &["repro", "/nowhere/bug.yaml"]);
    assert!(error.contains("/nowhere/bug.yaml: cannot be read"), "{error}");
    let (_, error) = run_expecting(2, &["repro", &file.name(), "--keep"]);
    assert!(error.contains("name one case of"), "{error}");
    let (_, error) = run_expecting(2, &["repro", &file.name(), "--sut=/nowhere/sut.yaml"]);
    assert!(error.contains("/nowhere/sut.yaml"), "{error}");
}

#[test]
fn two_systems_are_compared_with_their_first_difference() {
    let file = File::of(REPORT);
    let output = format!("--output={}", file.sibling_path("out"));
    let broken = "--defect=publisher-ignores-maximum";
    let (out, _) = run_expecting(
        1,
        &[
            "repro",
            &file.name(),
            "small",
            broken,
            "--compare=built-in",
            &output,
        ],
    );
    for part in [
        "built-in references with publisher-igno",
        "verdict                        fail",
        "They first differ in capacity fast n1:",
        "10Gi  step “publish”",
        "10Gi (maximum 4Gi)  step “publish”",
        "At the end of step 1 “publish”:",
        "GetCapacity",
    ] {
        assert!(out.contains(part), "no “{part}” in:\n{out}");
    }
    let judge = out
        .lines()
        .filter_map(|line| line.split_once(": cargo xtask judge "))
        .map(|(_, folder)| folder.to_owned());
    let codes: Vec<_> = judge
        .map(|folder| xtask(&["judge", &folder]).status.code().unwrap())
        .collect();
    assert_eq!(codes, [1, 0], "both runs are stored");
}

#[test]
fn a_system_does_not_differ_from_itself_without_timing_effects() {
    let file = File::of(REPORT);
    let output = format!("--output={}", file.sibling_path("out"));
    let (out, _) = run_expecting(
        0,
        &["repro", &file.name(), "large", "--compare=built-in", &output],
    );
    assert!(out.contains("No difference in the compared facts"), "{out}");
    let sut = file.sibling_path("sut.yaml");
    std::fs::write(
        &sut,
        "name: nobody\nfeatures: [publisher.central]\nroles: {publisher: {argv: [\"false\"]}}\n",
    )
    .unwrap();
    let compare = format!("--compare={sut}");
    let (out, _) = run_expecting(0, &["repro", &file.name(), "large", &compare, &output]);
    assert!(
        out.contains("no comparison: one of the two systems was not run"),
        "it was skipped: {out}"
    );
    assert!(out.contains("publisher.provisioning is not claimed"), "{out}");
}

#[test]
fn the_cluster_stays_up_after_the_verdict_which_decides_the_exit_code() {
    let file = File::with_id_word("kept");
    let kubeconfig = file.sibling_path("kubeconfig");
    for (defect, code) in [("", 0), ("--defect=publisher-ignores-maximum", 1)] {
        let kubeconfig_flag = format!("--kubeconfig={kubeconfig}");
        let path = file.name();
        let mut args = vec!["repro", &path, "small", "--keep", &kubeconfig_flag];
        args.extend(Some(defect).filter(|defect| !defect.is_empty()));
        let serving = Serving::start(&args);
        let socket = serving.messages.iter().find_map(|line| line.strip_prefix("csi "));
        let socket = socket.unwrap().trim().to_owned();
        assert!(Path::new(&socket).exists(), "{socket}");
        if code == 0 {
            assert_eq!(node_of("p", &kubeconfig), Some("n1".to_owned()));
        }
        assert_eq!(serving.end("-INT").code(), Some(code));
        assert!(!Path::new(&socket).exists(), "the socket is removed");
    }
}

fn node_of(pod: &str, kubeconfig: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let file = Kubeconfig::read_from(kubeconfig).unwrap();
        let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
        let pods: Api<Pod> = Api::default_namespaced(Client::try_from(config.unwrap()).unwrap());
        pods.get(pod).await.unwrap().spec.unwrap().node_name
    })
}

#[test]
fn only_cases_that_did_not_pass_run_again_with_the_same_options() {
    let file = File::of(REPORT);
    let output = file.sibling_path("report");
    let broken = "--defect=publisher-ignores-maximum";
    let case = "publisher/value/maximum";
    let good = "publisher/topology/new-node-gains-object/central";
    run_expecting(1, &["e2e", case, good, broken, "--output", &output]);
    let (out, error) = run_expecting(1, &["rerun", &output, "-v"]);
    assert!(
        error.starts_with(&format!("cargo xtask e2e {broken} ")),
        "{error}"
    );
    assert!(
        out.contains("0 passed, 1 failed"),
        "only the one that failed: {out}"
    );
    // The report is changed as if the case had passed.
    let record = file.sibling_path("report/report.json");
    let healed = std::fs::read_to_string(&record)
        .unwrap()
        .replace(&format!(",\n    \"{broken}\""), "");
    std::fs::write(&record, healed).unwrap();
    let (out, _) = run_expecting(0, &["rerun", &record, "--output", &output]);
    assert!(out.contains("1 passed, 0 failed"), "{out}");
    let (_, error) = run_expecting(4, &["rerun", &output]);
    assert!(error.contains("has no case to rerun: 1 passed"), "{error}");
}

#[test]
fn a_report_with_another_command_is_rejected() {
    let file = File::of(REPORT);
    let output = file.sibling_path("report");
    run_expecting(
        1,
        &[
            "e2e",
            "publisher/value/maximum",
            "--defect=publisher-ignores-maximum",
            "--output",
            &output,
        ],
    );
    let record = file.sibling_path("report/report.json");
    let mut text = String::new();
    std::fs::File::open(&record)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    std::fs::write(&record, text.replace("\"e2e\"", "\"up\"")).unwrap();
    let (_, error) = run_expecting(2, &["rerun", &record]);
    assert!(
        error.contains("cannot be parsed") || error.contains("runs no cases"),
        "{error}"
    );
    let (_, error) = run_expecting(2, &["rerun", "/nowhere/report.json"]);
    assert!(error.contains("name the report.json of a run"), "{error}");
}

#[test]
fn a_report_that_other_users_may_write_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("foreign/runs");
    std::fs::create_dir_all(&runs).unwrap();
    std::fs::write(runs.join("report.json"), "{}").unwrap();
    let uid = std::fs::metadata(folder.path()).unwrap().uid();
    let own = folder.path().join(format!("csi-capacity-{uid}"));
    let refused = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
        command
            .args(["rerun", "--output=report"])
            .current_dir(folder.path());
        command
            .env("TMPDIR", folder.path())
            .env_remove("CARGO_MANIFEST_DIR");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        text(&output.stderr)
    };
    std::os::unix::fs::symlink("foreign", &own).unwrap();
    assert!(refused().contains("another user owns the folder, or the path is not a folder; remove it"));
    std::fs::remove_file(&own).unwrap();
    std::fs::rename(folder.path().join("foreign"), &own).unwrap();
    std::fs::set_permissions(&own, PermissionsExt::from_mode(0o777)).unwrap();
    assert!(refused().contains("other users may write into the folder; remove it"));
}

#[test]
fn control_characters_of_a_file_are_escaped_on_the_terminal() {
    let acting = "\\e[2J\\e]0;title\\a\\x9b31m\\u202e\\r\\b";
    let file = File::of(&REPORT.replacen("title: ", &format!("title: \"{acting}\"\n#"), 1));
    let (out, error) = run_expecting(0, &["explain", &file.name(), "small"]);
    let is_printable = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
    assert!(out.contains("\\u001b[2J") && out.contains("\\u202e"), "{out:?}");
    assert!((out + &error).chars().all(is_printable));
}

/// Without a publisher, the harness provisions a volume in the segment that the driver registered for the node, whatever the name of the
/// node is.
const ZONE: &str = "\
id: mine/reach
title: a volume that is made for a pod is reached from the driver's segment of its node, not from the node's name alone
cluster:
  roles: [scheduler]
  driver: {topologyKeys: [topology.kubernetes.io/zone]}
  nodes:
    - {name: n1.example.com, labels: {topology.kubernetes.io/zone: east, kubernetes.io/hostname: n1, first: \"yes\"}}
    - {name: n2.example.com, labels: {topology.kubernetes.io/zone: east, kubernetes.io/hostname: n2}}
    - {name: n3.example.com, labels: {topology.kubernetes.io/zone: west, kubernetes.io/hostname: n3}}
  classes: [fast]
  capacityObjects: [{class: fast, segment: east, capacity: 10Gi}]
steps:
  - id: place
    do: [{pod: {name: app, claims: [{name: data, class: fast, size: 5Gi}], nodeSelector: {first: \"yes\"}}}]
    expect:
      - placement: {app: n1.example.com}
        why: the segment east has room, and the label of the node is not its name
  - id: drain
    do:
      - merge: {resource: nodes, name: n1.example.com, merge: {spec: {unschedulable: true}}}
      - delete: {pod: app}
      - pod: {name: again, claims: [{name: data}]}
    expect:
      - placement: {again: n2.example.com}
        why: n2 is in the same segment, so it reaches the volume, and n3 does not
";

#[test]
fn a_volume_provisioned_by_the_harness_is_accessible_from_its_segment() {
    let file = File::of(ZONE);
    run_expecting(0, &["repro", &file.name()]);
}
