//! `conformance` with programs that do not implement their role, and with invalid manifests: the message names the cause, the exit code is
//! correct, and the run never passes or hangs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A case that every publisher passes.
const CASE: &str = "publisher/topology/new-node-gains-object/central";

struct Manifest {
    folder: tempfile::TempDir,
}

impl Manifest {
    fn of(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sut.yaml"), text).unwrap();
        Manifest { folder }
    }

    /// A manifest with this program as the publisher.
    fn program(argv: &str) -> Self {
        Self::of(&format!(
            "name: other\nfeatures: [publisher.central]\nroles:\n  publisher:\n    argv: {argv}\n    grace: 100ms\n"
        ))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("sut.yaml")
    }

    fn run(&self, more: &[&str]) -> (i32, String, String) {
        let output = xtask(&self.path(), more);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }
}

fn xtask(manifest: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args(["conformance", "--sut"])
        .arg(manifest)
        .args(more)
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

/// Programs that do not implement their role, with the expected failure text, in which ROLE stands for the role.
const NO_SYSTEMS: &[(&str, &str)] = &[
    // The program exits at once, with or without an error.
    (
        "[\"true\"]",
        "ROLE ended by itself: exit status: 0, without any log output",
    ),
    (
        "[\"false\"]",
        "ROLE ended by itself: exit status: 1, without any log output",
    ),
    ("[sh, -c, \"echo no socket >&2; exit 7\"]", "    | no socket"),
    // The program prints random bytes and exits.
    (
        "[head, -c, \"300000\", /dev/urandom]",
        "exit status: 0; its last lines:",
    ),
    // The program does nothing, and ignores SIGTERM.
    (
        "[sleep, \"1000\"]",
        "the program sent no list or watch request within 3s; 0 other requests",
    ),
    (
        "[sh, -c, \"trap '' TERM; while true; do sleep 1; done\"]",
        "the program sent no list or watch request within 3s",
    ),
];

/// A program that floods its log. It uses a whole CPU, so it is tested in one role only.
const FLOOD: (&str, &str) = ("[\"yes\"]", "sent no list or watch request within 3s");

fn all_fail(role: &str, feature: &str, case: &str, programs: &[(&str, &str)]) {
    let run = |argv: &str, expected: &str| {
        let manifest = Manifest::of(&format!(
            "name: other\nfeatures: [{feature}]\nroles:\n  {role}:\n    argv: {argv}\n    grace: 100ms\n"
        ));
        let (code, out, error) = manifest.run(&["--patience=0.1", case]);
        assert!(out.contains(expected), "{argv} without “{expected}”:\n{out}");
        // The flooding program may use so much CPU time that the result is inconclusive.
        let counts = match code {
            5 => "0 passed, 0 failed, 1 undecided",
            _ => "0 passed, 1 failed",
        };
        assert!(code == 1 || argv == "[\"yes\"]", "{argv}:\n{out}{error}");
        assert!(out.contains(counts), "{argv}:\n{out}");
        assert!(out.trim_end().ends_with(case), "{argv}:\n{out}");
        assert!(
            out.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()),
            "{argv}: {out:?}"
        );
    };
    std::thread::scope(|scope| {
        for (argv, expected) in programs {
            let expected = expected.replace("ROLE", role);
            scope.spawn(move || run(argv, &expected));
        }
    });
}

#[test]
fn a_program_that_is_no_publisher_fails_with_a_description() {
    all_fail(
        "publisher",
        "publisher.central",
        CASE,
        &[NO_SYSTEMS, &[FLOOD]].concat(),
    );
}

#[test]
fn a_program_that_is_no_scheduler_fails_with_a_description() {
    all_fail("scheduler", "", "scheduler/filter/limit/exactly", NO_SYSTEMS);
}

#[test]
fn a_program_that_is_no_driver_fails_with_a_description() {
    let names = "{name: a.example.org, topologyKeys: [a/node]}";
    for (argv, expected) in [
        (
            "[\"true\"]",
            "driver@n1 ended by itself: exit status: 0, without any log output",
        ),
        ("[sh, -c, \"echo no disk >&2; exit 7\"]", "    | no disk"),
        // The driver creates no socket.
        (
            "[sleep, \"1000\"]",
            "driver@n1 was not ready: the driver did not answer Probe with ready within 3s: UNAVAILABLE",
        ),
    ] {
        let manifest = Manifest::of(&format!(
            "name: other\nfeatures: []\nroles:\n  driver:\n    argv: {argv}\n    names: {names}\n    grace: 100ms\n"
        ));
        let case = "driver/identity/name";
        let (code, out, error) = manifest.run(&["--patience=0.1", case]);
        assert_eq!(code, 1, "{argv}:\n{out}{error}");
        assert!(out.contains(expected), "{argv} without “{expected}”:\n{out}");
        assert!(out.contains("0 passed, 1 failed"), "{argv}:\n{out}");
    }
}

#[test]
fn an_exited_driver_is_reported_before_the_case_calls_it() {
    let names = "{name: a.example.org, topologyKeys: [a/node]}";
    let argv = "[sh, -c, \"sleep 0.3; echo no disk >&2; exit 7\"]";
    let manifest = Manifest::of(&format!(
        "name: other\nfeatures: []\nroles:\n  driver:\n    argv: {argv}\n    names: {names}\n"
    ));
    let began = Instant::now();
    let (code, out, error) = manifest.run(&["driver/identity/name"]);
    assert_eq!(code, 1, "{out}{error}");
    assert!(out.contains("driver@n1 ended by itself: exit status: 7"), "{out}");
    // A call to a driver that exited could take 10 s.
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

#[test]
fn any_does_not_match_an_unset_setting() {
    let manifest = Manifest::of(
        "name: other\nfeatures: [publisher.central]\nroles:\n  publisher:\n    \
         argv: [sh, -c, \"echo has[$*]; exit 7\", sh]\n    \
         settings: {ownerLevel: {any: [\"--owner={value}\"]}, election: {any: [--elect]}, publish: {any: [--off]}}\n",
    );
    let (code, out, error) = manifest.run(&["publisher/value/error/internal"]);
    assert_eq!(code, 1, "{out}{error}");
    assert!(out.contains("    | has[]\n"), "{out}");
}

fn journal(output: &Path, case: &str) -> String {
    let run = output.join("cases").join(case.replace('/', "."));
    std::fs::read_to_string(run.join("journal.jsonl")).unwrap()
}

#[test]
fn objects_of_the_manifest_exist_before_the_scheduler_starts() {
    let manifest = Manifest::of(
        "name: other\nfeatures: []\nroles:\n  scheduler:\n    argv: [\"false\"]\n    objects:\n      - text: |\n          \
         apiVersion: scheduling.k8s.io/v1\n          kind: PriorityClass\n          metadata: {name: storage}\n          value: 7\n",
    );
    let folder = tempfile::tempdir().unwrap();
    let case = "scheduler/filter/limit/exactly";
    let (code, out, error) = manifest.run(&["--output", folder.path().to_str().unwrap(), case]);
    assert_eq!(code, 1, "{out}{error}");
    let journal = journal(folder.path(), case);
    let at = |words: &str| journal.lines().position(|line| line.contains(words));
    let applied = at("\"name\":\"storage\"");
    let started = at("\"event\":\"started\"");
    assert!(applied.is_some() && applied < started, "{applied:?} {started:?}");
}

#[test]
fn per_node_objects_of_the_manifest_exist_also_for_a_joining_node() {
    let manifest = Manifest::of(
        "name: other\nfeatures: []\nroles:\n  scheduler:\n    argv: [sleep, \"1000\"]\n    grace: 100ms\n    objects:\n      - text: |\n          \
         apiVersion: scheduling.k8s.io/v1\n          kind: PriorityClass\n          metadata: {name: \"of-{node}\"}\n          value: 7\n",
    );
    let folder = tempfile::tempdir().unwrap();
    let case = "scheduler/a";
    std::fs::create_dir(folder.path().join("scheduler")).unwrap();
    std::fs::write(
        folder.path().join("scheduler/a.yaml"),
        format!(
            "id: {case}\ntitle: a node joins\ncluster: {{nodes: [n1], classes: [fast]}}\nsteps:\n  - id: join\n    do:\n      \
             - node: {{join: {{name: n2}}}}\n      - pod: {{name: p, claims: [{{class: fast, size: 1Gi}}]}}\n    expect:\n      \
             - placement: {{p: none}}\n        why: no capacity is published\n"
        ),
    )
    .unwrap();
    let path = folder.path().to_str().unwrap();
    let (code, out, error) = manifest.run(&["--patience=0.1", "--folder", path, "--output", path, case]);
    assert_eq!(code, 1, "{out}{error}");
    let journal = journal(folder.path(), case);
    let at = |words: &str| journal.lines().position(|line| line.contains(words));
    let started = at("\"event\":\"started\"");
    let at_start = at("\"name\":\"of-n1\"");
    assert!(
        at_start.is_some() && at_start < started,
        "{at_start:?} {started:?}"
    );
    let joined = at("\"name\":\"of-n2\"");
    assert!(joined > started, "{joined:?} {started:?}");
}

#[test]
fn an_idle_scheduler_does_not_pass_a_case_of_refusals() {
    // The case only expects that pods are unschedulable. A scheduler that does nothing must still fail.
    let manifest = Manifest::of(
        "name: other\nfeatures: []\nroles:\n  scheduler:\n    argv: [sleep, \"1000\"]\n    grace: 100ms\n",
    );
    let (code, out, error) = manifest.run(&["--patience=0.1", "scheduler/filter/limit/one-byte-more"]);
    assert_eq!(code, 1, "{out}{error}");
}

#[test]
fn a_program_that_only_reads_fails_for_its_missing_writes() {
    let asks = format!(
        "while true; do {} why objects --kubeconfig {{kubeconfig}}; done",
        env!("CARGO_BIN_EXE_csi-capacity")
    );
    for (role, feature, case, link) in [
        (
            "publisher",
            "publisher.central",
            CASE,
            "GetCapacity for class fast at n1: never since the step began",
        ),
        (
            "scheduler",
            "",
            "scheduler/filter/limit/exactly",
            "a node is chosen for pod p: the scheduler neither placed nor refused it",
        ),
    ] {
        let manifest = Manifest::of(&format!(
            "name: other\nfeatures: [{feature}]\nroles:\n  {role}:\n    argv: [sh, -c, \"{asks}\"]\n    grace: 100ms\n"
        ));
        let (code, out, error) = manifest.run(&["--patience=0.1", case]);
        assert_eq!(code, 1, "{role}:\n{out}{error}");
        assert!(out.contains(link), "{role} without “{link}”:\n{out}");
    }
}

#[test]
fn unclaimed_features_are_skipped_with_a_reason_and_an_empty_run_is_an_error() {
    let manifest = Manifest::program("[\"true\"]");
    let (code, out, error) = manifest.run(&["-v", "publisher/topology/new-node-gains-object/distributed"]);
    assert_eq!(code, 4, "{out}{error}");
    assert!(
        out.contains("publisher.distributed is not claimed: one instance per node"),
        "{out}"
    );
    assert!(error.contains("every selected case was skipped"), "{error}");
}

#[test]
fn an_invalid_manifest_is_rejected_with_its_position() {
    let wrong = [
        (
            "name: x\nfeatures: [publisher.fast]\nroles: {publisher: {argv: [\"true\"]}}\n",
            ":2:12: `publisher.fast` is no feature",
        ),
        (
            "name: x\nfeatures: [publisher.zero-capacity-objects]\nroles: {publisher: {argv: [\"true\"]}}\n",
            ":2:12: publisher.zero-capacity-objects is claimed, but the manifest has no setting for it",
        ),
        ("name: x\nfeatures: []\nroles: {}\n", "`roles` is empty"),
        (
            "name: x\nfeatures: []\nroles: {painter: {argv: [\"true\"]}}\n",
            "painter",
        ),
        (
            "name: x\nfeatures: []\nroles: {publisher: {argv: []}}\n",
            ":3:20: `argv` of the publisher is empty",
        ),
        (
            "name: x\nfeatures: []\nroles: {publisher: {argv: [\"true\", \"{nodes}\"]}}\n",
            "unknown placeholder `{nodes}`; write one of kubeconfig,",
        ),
        (
            "name: x\nfeatures: []\nroles: {publisher: {argv: [\"true\"], settings: {colour: {any: []}}}}\n",
            "`colour` is not a setting of the publisher; settings: mode,",
        ),
        ("name: x\nfeatures: []\nrols: {}\n", ":3:1: unknown field `rols`"),
        (
            "name: x\nfeatures: []\nroles: {publisher: {argv: [\"true\"]}}\nknownFailures: [{case: a, fails: ended by itself, why: b, issue: c, until: soon}]\n",
            "`soon` is not a date; write one such as 2027-06-30",
        ),
        ("name: [x\n", "sut.yaml:"),
    ];
    for (text, expected) in wrong {
        let (code, out, error) = Manifest::of(text).run(&[]);
        assert_eq!(code, 2, "{text}:\n{out}{error}");
        assert!(error.contains(expected), "{text} without “{expected}”:\n{error}");
    }
    let output = xtask(Path::new("/nowhere/sut.yaml"), &[]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_missing_program_is_an_environment_error() {
    for (program, why, remedy) in [
        ("./missing", "no program at", "build the program first"),
        ("missing-program", "not found in PATH", "build the program first"),
        ("./folder", "is a folder", "name the program in it"),
        ("./text", "is not executable", "chmod +x"),
        ("./text/below", "the metadata of", "Not a directory"),
        ("/dev/null", "is not a regular file", "correct `argv`"),
    ] {
        let manifest = Manifest::program(&format!("[{program}]"));
        std::fs::create_dir(manifest.folder.path().join("folder")).unwrap();
        std::fs::write(manifest.folder.path().join("text"), "").unwrap();
        let (code, _, error) = manifest.run(&[]);
        assert_eq!(code, 3, "{error}");
        assert!(
            error.contains(why) && error.contains(remedy),
            "no “{why}” and “{remedy}” in {error}"
        );
    }
}

/// Whether a process runs. A zombie does not count.
fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

#[test]
fn child_processes_of_a_wrapper_are_killed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    // The second child ignores SIGTERM.
    let wrapper = format!(
        "sleep 1000 & echo $! >> {pids}; (trap '' TERM; sleep 1001) & echo $! >> {pids}; wait",
        pids = pids.display()
    );
    let manifest = Manifest::program(&format!("[sh, -c, \"{wrapper}\"]"));
    let (code, out, _) = manifest.run(&["--patience=0.1", CASE]);
    assert_eq!(code, 1, "{out}");
    let pids = std::fs::read_to_string(pids).unwrap();
    assert!(pids.lines().count() >= 2, "{pids}");
    let left: Vec<&str> = pids.lines().filter(|pid| is_running(pid)).collect();
    assert!(left.is_empty(), "{left:?} of {pids}");
}

#[test]
fn a_run_stops_at_a_program_that_is_never_ready_unless_keep_going_is_set() {
    let plans = suites::plans(&suites::case_files()).unwrap();
    let all = plans
        .iter()
        .filter(|plan| plan.id().starts_with("publisher/value/"))
        .count();
    let manifest = Manifest::program("[sleep, \"1000\"]");
    let output = manifest.folder.path().join("report");
    let words = [
        "--patience=0.1",
        "publisher/value",
        "--output",
        output.to_str().unwrap(),
    ];
    let (code, out, error) = manifest.run(&[&words[..], &["--jobs=3"]].concat());
    assert_eq!(code, 1, "{out}{error}");
    assert!(out.contains("0 passed, 3 failed"), "{out}");
    assert!(
        out.contains("partial: stopped after ")
            && out.contains(&format!(
                " of {all} cases: a program was never ready in 3 cases in a row\n"
            )),
        "{out}"
    );
    assert!(
        error.contains("error: stopped after 3 cases in a row") && error.contains("--keep-going"),
        "{error}"
    );
    let record = std::fs::read_to_string(output.join("report.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert!(!record["unfinished"].as_array().unwrap().is_empty());
    let (code, out, error) = manifest.run(&[&words[..], &["--jobs=10", "--keep-going"]].concat());
    assert_eq!(code, 1, "{out}{error}");
    let failed = all - 8;
    assert!(
        out.contains(&format!("0 passed, {failed} failed, 8 skipped\n")),
        "{out}"
    );
}

#[test]
fn a_stopped_run_with_only_known_failures_is_incomplete() {
    let manifest = Manifest::of(
        "name: other\nfeatures: [publisher.central]\nroles: {publisher: {argv: [sleep, \"1000\"], grace: 100ms}}\nknownFailures:\n  - {case: publisher/value, fails: was not ready, why: it is no publisher, issue: i, until: 2999-12-31}\n",
    );
    let (code, out, error) = manifest.run(&["--patience=0.1", "--jobs=3", "publisher/value"]);
    assert_eq!(code, 6, "{out}{error}");
}

#[test]
fn excessive_output_is_cut_and_its_error_lines_are_shown() {
    let script =
        "head -c 3000000 /dev/zero | tr '\\\\0' x; echo; echo ERROR: no driver at all; exec sleep 1000";
    let manifest = Manifest::program(&format!("[sh, -c, \"{script}\"]"));
    let output = manifest.folder.path().join("report");
    let (code, out, error) = manifest.run(&["--patience=0.1", CASE, "--output", output.to_str().unwrap()]);
    assert_eq!(code, 1, "{out}{error}");
    assert!(
        out.contains("  log     publisher: ERROR: no driver at all\n"),
        "{out}"
    );
    assert!(
        out.contains(" bytes of the log were not stored: the log exceeds the limit]"),
        "{out}"
    );
    let run = output.join("cases").join(CASE.replace('/', "."));
    let log = std::fs::read_to_string(run.join("publisher.log")).unwrap();
    assert!(
        log.starts_with("xxx") && log.ends_with("xxx\nERROR: no driver at all\n"),
        "{}",
        log.len()
    );
    assert!(
        log.len() < 300_000 && log.contains(" bytes are omitted here"),
        "{}",
        log.len()
    );
    // `judge` must print the explanation that the run printed.
    let judged = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .arg("judge")
        .arg(&run)
        .output()
        .unwrap();
    let judged = String::from_utf8_lossy(&judged.stdout).into_owned();
    assert!(judged.contains("publisher: ERROR: no driver at all"), "{judged}");
}

#[test]
fn an_exited_go_program_is_shown_with_the_reason_before_its_goroutines() {
    let stacks = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo goroutine $i [select]:; echo main.wait; done >&2; exit 255";
    for reason in [
        "F1122 06:31:00.123456   12345 csi-provisioner.go:210] no CSIDriver",
        "panic: runtime error: invalid memory address or nil pointer dereference",
        "fatal error: all goroutines are asleep - deadlock!",
    ] {
        let manifest = Manifest::program(&format!(
            "[sh, -c, \"echo it begins >&2; echo '{reason}' >&2; {stacks}\"]"
        ));
        let (code, out, error) = manifest.run(&[CASE]);
        assert_eq!(code, 1, "{out}{error}");
        let printed =
            format!("exit status: 255; the logged reason:\n    | {reason}\n    | goroutine 1 [select]:\n");
        assert!(out.contains(&printed), "no “{printed}” in:\n{out}");
        assert!(!out.contains("goroutine 300"), "{out}");
    }
}

#[test]
fn list_shows_skips_and_known_failures() {
    let text = "name: other\nfeatures: [publisher.central]\nroles: {publisher: {argv: [\"false\"]}}\nknownFailures:\n  - {case: publisher/topology/new-node-gains-object/central, fails: ended by itself, why: it is no publisher, issue: i, until: 2999-12-31}\n";
    let manifest = Manifest::of(text);
    let output = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args(["list", "publisher/topology/new-node-gains-object", "--sut"])
        .arg(manifest.path())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in [
        "publisher/topology/new-node-gains-object/central      known to fail until 2999-12-31: it is no publisher",
        "publisher/topology/new-node-gains-object/distributed  skip: publisher.distributed is not claimed: one instance",
    ] {
        assert!(out.contains(line), "no “{line}” in:\n{out}");
    }
    assert_eq!(output.status.code(), Some(0));
    let mut wrong = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
    let output = wrong
        .args(["list", "--sut", "/nowhere/sut.yaml"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_partial_result_lists_its_reasons() {
    let text = "name: other\nfeatures: [publisher.central, publisher.reconnect]\nroles: {publisher: {argv: [\"false\"]}}\n";
    let (_, out, _) = Manifest::of(text).run(&["--patience=11", "--shard=1/1", CASE]);
    for reason in [
        "partial: only some cases were selected",
        "partial: shard 1/1",
        "partial: timeouts were multiplied by 11",
        "partial: publisher.reconnect is claimed, but no case that needs it was run",
    ] {
        assert!(out.contains(reason), "no “{reason}” in:\n{out}");
    }
    assert!(
        !out.contains("publisher.central is claimed, but no case"),
        "{out}"
    );
}

/// A program that logs its arguments and exits.
const LOGS_ARGUMENTS: &str =
    "[sh, -c, 'echo \"$NAMESPACE/$POD_NAME: $*\" >&2; exit 9', sh, '--csi-address={csi_socket}']";

#[test]
fn each_release_gets_the_mode_in_its_own_flag() {
    let central = "publisher/value/everywhere";
    let distributed = "publisher/prior/states/distributed-none";
    let older = "{central: [--enable-capacity=central], distributed: [--enable-capacity=local]}";
    let newer = "{central: [--enable-capacity], distributed: [--enable-capacity, --node-deployment]}";
    for (case, modes, words) in [
        (central, older, "--enable-capacity=central"),
        (distributed, older, "--enable-capacity=local"),
        (central, newer, "--enable-capacity"),
        (distributed, newer, "--enable-capacity --node-deployment"),
    ] {
        let manifest = Manifest::of(&format!(
            "name: other\nfeatures: [publisher.central, publisher.distributed, publisher.retain-unknown-capacity]\nroles:\n  publisher:\n    \
             argv: {LOGS_ARGUMENTS}\n    grace: 100ms\n    settings: {{mode: {modes}}}\n"
        ));
        let (code, out, error) = manifest.run(&[case]);
        assert_eq!(code, 1, "{case}: {out}{error}");
        let called = out
            .lines()
            .find(|line| line.contains("--csi-address="))
            .unwrap_or_default();
        assert!(
            called.trim_end().ends_with(&format!(" {words}")),
            "{case} without “{words}”: {out}"
        );
    }
}

#[test]
fn external_provisioner_is_configured_as_in_its_documentation() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites/manifests/external-provisioner.yaml");
    let shipped = std::fs::read_to_string(shipped).unwrap();
    let parrot = "- sh\n      - -c\n      - 'echo \"$NAMESPACE/$POD_NAME: $*\" >&2; exit 9'\n      - sh";
    let program = "- csi-provisioner";
    assert!(shipped.contains(program), "{shipped}");
    let entries = shipped.find("knownFailures:").unwrap();
    let manifest = Manifest::of(&shipped[..entries].replacen(program, parrot, 1));
    let (code, out, error) = manifest.run(&["publisher/objects/owner/deployment"]);
    assert_eq!(code, 1, "{out}{error}");
    let called = out
        .lines()
        .find(|line| line.contains("--csi-address="))
        .unwrap_or_default();
    for words in [
        "| csi/publisher-",
        "--enable-capacity",
        "--capacity-ownerref-level=2",
    ] {
        assert!(called.contains(words), "no “{words}” in {called}");
    }
}

#[test]
fn daemons_and_temporary_files_of_a_program_are_removed_and_its_secrets_are_not_reported() {
    let manifest = Manifest::of(
        "name: other\nfeatures: [publisher.central]\nroles:\n  publisher:\n    argv: [sh, -c, \". ../program\", sh, \"{kubeconfig}\"]\n    \
         env: {BACKEND_PASSWORD: correct-horse}\n",
    );
    let at = |name: &str| manifest.folder.path().join(name);
    let (temporary, report) = (at("temporary"), at("report"));
    std::fs::create_dir(&temporary).unwrap();
    // The working directory of the program is in the temporary folder.
    let program = "setsid sleep 600 < /dev/null > /dev/null 2>&1 &\necho $! > ../../daemon\ncp token ../../token\n\
                   mktemp\ncat $1 token\necho error: $BACKEND_PASSWORD >&2\nexit 7\n";
    std::fs::write(temporary.join("program"), program).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args(["conformance", "--sut", "sut.yaml", "--output", "report", CASE])
        .env("TMPDIR", &temporary)
        .current_dir(manifest.folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let written = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    assert!(!crate::interrupts::runs(written("daemon").trim()));
    let left = std::fs::read_dir(&temporary)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["program"]);
    let mut texts = vec![output.stdout, output.stderr];
    let run = report.join("cases").join(CASE.replace('/', "."));
    for folder in [&report, &run] {
        let files = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        texts.extend(
            files
                .filter(|path| path.is_file())
                .map(|path| std::fs::read(path).unwrap()),
        );
    }
    let all = String::from_utf8(texts.concat()).unwrap();
    assert!(all.contains("[secret]"));
    for secret in [written("token").as_str(), "correct-horse"] {
        assert!(!all.contains(secret), "{secret}");
    }
}
