//! Runs with too few resources, and interrupted runs: messages, exit codes and remaining files. Such errors must never count against a
//! system under test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::text;
use serde_json::Value;
use tempfile::TempDir;

const PASSING: &str = "scheduler/filter/limit/exactly";
const FAILING: &str = "scheduler/filter/limit/maximum-refuses";

/// Runs the program in a shell with these resource limits (`ulimit`).
fn run_with_limits(limits: &str, args: &str) -> (i32, String, String) {
    let line = format!("{limits}; exec {} {args}", env!("CARGO_BIN_EXE_csi-capacity"));
    run_to_end(Command::new("sh").args(["-c", &line]))
}

fn run_to_end(command: &mut Command) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.env("NO_COLOR", "1").output().unwrap();
    (status.code().unwrap(), text(&stdout), text(&stderr))
}

fn xtask(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
    command.args(args);
    command
}

fn record(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("report.json")).unwrap()).unwrap()
}

#[test]
fn the_soft_limit_of_open_files_is_raised() {
    let (code, out, error) = run_with_limits("ulimit -Sn 80", "e2e scheduler/filter/limit");
    assert_eq!(code, 0, "{out}{error}");
    assert!(!error.contains("ulimit"), "{error}");
}

#[test]
fn the_number_of_concurrent_cases_follows_the_open_file_limit() {
    let (code, out, error) = run_with_limits("ulimit -n 256", "e2e scheduler/filter --jobs 64");
    assert_eq!(code, 0, "{out}{error}");
    assert!(
        error.contains("cases run at once, not 64: this process may have 256 files open"),
        "{error}"
    );
}

#[test]
fn a_low_open_file_limit_is_an_environment_error() {
    let (code, out, error) = run_with_limits("ulimit -n 90", "e2e scheduler/filter/limit");
    assert_eq!(code, 3, "{out}{error}");
    assert!(
        error.contains("this process may have 90 files open") && error.contains("ulimit -n 4096"),
        "{error}"
    );
}

#[test]
fn folders_that_are_not_writable_are_reported_before_anything_runs() {
    let cases = [
        (
            xtask(&["e2e", PASSING, "--output", "/dev/null/report"]),
            "/dev/null/report",
            "--output",
        ),
        (xtask(&["e2e", PASSING]), "/dev/null/temporary", "TMPDIR"),
        (xtask(&["selftest", PASSING]), "/dev/null/temporary", "TMPDIR"),
        (
            xtask(&["selftest", PASSING, "--output", "/dev/null/report"]),
            "/dev/null/report",
            "--output",
        ),
        (
            xtask(&["explore", "--worlds", "1", "--output", "/dev/null/report"]),
            "/dev/null/report",
            "--output",
        ),
        (
            xtask(&["sweep", PASSING, "--output", "/dev/null/report"]),
            "/dev/null/report",
            "--output",
        ),
        (
            xtask(&["study", "scoring", "--small", "--output", "/dev/null/report"]),
            "/dev/null/report",
            "--output",
        ),
    ];
    for (mut command, folder, remedy) in cases {
        if remedy == "TMPDIR" {
            command.env("TMPDIR", folder);
        }
        let (code, out, error) = run_to_end(&mut command);
        assert_eq!(code, 3, "{out}{error}");
        assert!(
            error.contains(folder) && error.contains(remedy),
            "no {folder} and {remedy} in: {error}"
        );
        assert!(!out.contains("passed"), "{out}");
    }
}

/// A run with a case that passes and a case that fails after a long time.
struct Run {
    child: std::process::Child,
    report: TempDir,
    temporary: TempDir,
    out: BufReader<std::process::ChildStdout>,
}

impl Run {
    fn start_and_wait_for_first_case() -> Self {
        let (report, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let args = [
            "e2e",
            PASSING,
            FAILING,
            "--defect=scheduler-ignores-maximum",
            "--patience=9",
            "-v",
        ];
        let mut child = xtask(&args)
            .arg("--output")
            .arg(report.path())
            .env("TMPDIR", temporary.path())
            .env("NO_COLOR", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("pass  {PASSING}")), "{line}");
        Run {
            child,
            report,
            temporary,
            out,
        }
    }

    /// Sends a signal; returns the report folder and the output.
    fn end(self, signal: &str) -> (TempDir, String) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let rest: Vec<String> = self.out.lines().map_while(Result::ok).collect();
        let ended = self.child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "{}", text(&ended.stderr));
        let left: Vec<_> = std::fs::read_dir(self.temporary.path()).unwrap().collect();
        assert!(left.is_empty(), "{signal} leaves {left:?}");
        (self.report, rest.join("\n"))
    }
}

/// Whether this process ignores SIGHUP, as under nohup. Child processes inherit the setting.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1)
}

#[test]
fn an_interrupted_run_keeps_its_results_and_the_rest_can_be_rerun() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        if signal == "-HUP" && ignores_hangup() {
            continue;
        }
        let (report, out) = Run::start_and_wait_for_first_case().end(signal);
        assert!(
            out.contains("1 passed, 0 failed\n") && out.contains("\npartial: interrupted after 1 of 2 cases"),
            "{out}"
        );
        let record = record(report.path());
        assert_eq!(record["unfinished"], serde_json::json!([FAILING]));
        assert_eq!(record["cases"][0]["id"], PASSING);
        let page = std::fs::read_to_string(report.path().join("report.html")).unwrap();
        assert!(page.contains("interrupted after 1 of 2 cases"));
        if signal == "-HUP" {
            let again = tempfile::tempdir().unwrap();
            // Rerun without the defect that makes the case slow.
            let path = report.path().join("report.json");
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(
                &path,
                text.replace("\"--defect=scheduler-ignores-maximum\"", "\"-v\""),
            )
            .unwrap();
            let (code, out, error) =
                run_to_end(xtask(&["rerun", path.to_str().unwrap(), "--output"]).arg(again.path()));
            assert_eq!(code, 0, "{out}{error}");
            assert!(
                out.contains(&format!("pass  {FAILING}")) && !out.contains(PASSING),
                "{out}"
            );
        }
    }
}

#[test]
fn a_run_that_ignores_sighup_continues_after_its_terminal_closes() {
    let line = format!(
        "trap '' HUP; {} e2e {PASSING} --output $0 & kill -HUP $!; wait $!",
        env!("CARGO_BIN_EXE_csi-capacity")
    );
    let report = tempfile::tempdir().unwrap();
    let (code, out, error) = run_to_end(Command::new("sh").args(["-c", &line]).arg(report.path()));
    assert_eq!(code, 0, "{out}{error}");
}

/// Writes a case with a unique id that always fails at once, and returns the path of the file.
fn write_failing_case(folder: &Path, name: &str) -> String {
    let text = format!(
        "id: mine/{name}\ntitle: t\ncluster: {{nodes: [n1], classes: [fast], backend: {{n1: 1Gi}}}}\nsteps:\n- id: s\n  \
         expect: [{{always: true, capacities: {{fast: {{n1: 7Gi}}}}, why: w}}]\n"
    );
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The folder of the stored run, according to the failure message.
fn folder_of(out: &str) -> String {
    let mut lines = out.lines();
    let folder = lines.find_map(|line| line.trim().strip_prefix("judge   cargo xtask judge "));
    folder.unwrap_or_else(|| panic!("no folder in {out}")).to_owned()
}

#[test]
fn with_an_output_folder_nothing_is_written_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("elsewhere-{}", std::process::id());
    let file = write_failing_case(folder.path(), &name);
    let (code, elsewhere, error) = run_to_end(&mut xtask(&["repro", &file, "--simulate=1"]));
    assert_eq!(code, 1, "{elsewhere}{error}");
    let runs = Path::new(&folder_of(&elsewhere)).to_owned();
    std::fs::remove_dir_all(&runs).unwrap();
    let report = folder.path().join("report");
    let (code, out, error) = run_to_end(xtask(&["repro", &file, "--simulate=1", "--output"]).arg(&report));
    assert_eq!(code, 1, "{out}{error}");
    assert!(Path::new(&folder_of(&out)).starts_with(&report), "{out}");
    assert!(!runs.exists(), "{}", runs.display());
}

#[test]
fn concurrent_runs_of_one_checkout_use_separate_folders() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_failing_case(folder.path(), &format!("twice-{}", std::process::id()));
    let kubeconfig = folder.path().join("kubeconfig");
    let words = [
        "repro",
        &file,
        "--patience=0.1",
        "--keep",
        "--kubeconfig",
        kubeconfig.to_str().unwrap(),
    ];
    let first = crate::program::Serving::start(&words);
    let (_, second, _) = run_to_end(&mut xtask(&["repro", &file, "--simulate=1"]));
    let (one, two) = (folder_of(&first.messages.join("\n")), folder_of(&second));
    assert_ne!(one, two);
    // The first run is in real time and may be inconclusive on a busy machine.
    for (run, codes) in [(one, &[1, 5][..]), (two, &[1])] {
        let code = run_to_end(&mut xtask(&["judge", &run])).0;
        assert!(codes.contains(&code), "{run}: {code}");
        std::fs::remove_dir_all(run).unwrap();
    }
    first.end("-INT");
}

#[test]
fn two_runs_cannot_write_the_same_report() {
    let run = Run::start_and_wait_for_first_case();
    let (code, out, error) = run_to_end(xtask(&["e2e", PASSING, "--output"]).arg(run.report.path()));
    assert_eq!(code, 3, "{out}{error}");
    assert!(error.contains("another run writes its report into"), "{error}");
    run.end("-INT");
}
