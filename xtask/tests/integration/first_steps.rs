//! The commands with which a user begins: examples in the help, completions, manual pages, `doctor`, and `init`.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{run_expecting, text, xtask};

/// The example commands in a help text, without the program's name.
fn examples(help: &str) -> Vec<Vec<String>> {
    let lines = help
        .lines()
        .filter_map(|line| line.strip_prefix("  cargo xtask "));
    let words = lines.map(|line| {
        let words = line.split_whitespace().take_while(|word| *word != ">");
        words.map(str::to_owned).collect()
    });
    words.collect()
}

#[test]
fn examples_in_the_help_parse() {
    let mut shown = 0;
    for command in [
        "e2e",
        "conformance",
        "list",
        "why",
        "repro",
        "capture",
        "up",
        "init",
        "explore",
        "sweep",
        "report",
        "completions",
    ] {
        let (help, _) = run_expecting(0, &[command, "--help"]);
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{command} has no example:\n{help}");
        for words in examples {
            let before_program = words.iter().take_while(|word| *word != "--");
            let words: Vec<&str> = before_program.map(String::as_str).chain(["--help"]).collect();
            run_expecting(0, &words);
            shown += 1;
        }
    }
    assert!(shown > 20, "{shown}");
}

#[test]
fn completions_use_the_name_of_the_installed_program() {
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = run_expecting(0, &["completions", shell]);
        for word in ["csi-capacity", "conformance", "simulate"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let (page, _) = run_expecting(0, &["man"]);
    assert!(
        page.contains(".TH csi-capacity 1") && page.contains("conformance"),
        "{page}"
    );
    let (page, _) = run_expecting(0, &["man", "conformance"]);
    assert!(
        page.contains(".TH csi-capacity-conformance 1") && page.contains("accept"),
        "{page}"
    );
    let (page, _) = run_expecting(0, &["man", "report", "merge"]);
    assert!(page.contains(".TH csi-capacity-report-merge 1"), "{page}");
    let (_, error) = run_expecting(2, &["man", "nothing"]);
    assert!(error.contains("`nothing` is no command"), "{error}");
    let (_, error) = run_expecting(2, &["man", "report", "nothing"]);
    assert!(
        error.contains("`nothing` is no command; `csi-capacity report --help`"),
        "{error}"
    );
}

#[test]
fn doctor_names_problems_and_remedies() {
    let (printed, _) = run_expecting(0, &["doctor"]);
    assert!(printed.contains("ok       temporary files"), "{printed}");
    let output = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .arg("doctor")
        .env("NO_COLOR", "1")
        .env("TMPDIR", "/dev/null/nowhere")
        .output()
        .unwrap();
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{printed}");
    assert!(
        printed.contains("MISSING  temporary files") && printed.contains("set TMPDIR to another folder"),
        "{printed}"
    );
}

#[test]
fn doctor_checks_the_programs_of_a_manifest_without_starting_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    write_publisher_script(folder.path());
    let manifest = at("sut.yaml");
    let doctor = ["doctor", "--sut", &manifest];
    let role = |rest: &str| {
        let text = format!("name: mine\nversion: v1\nfeatures: []\nroles:\n  {rest}\n");
        std::fs::write(&manifest, text).unwrap();
    };
    role("publisher: {argv: [./my-publisher]}");
    let (printed, _) = run_expecting(0, &doctor);
    assert!(
        printed.contains("ok       manifest          mine v1: publisher; 0 features claimed"),
        "{printed}"
    );
    assert!(
        printed.contains(&format!("ok       publisher         {}", at("my-publisher"))),
        "{printed}"
    );
    role("publisher: {argv: [./my-publisher], processes: [{argv: [./no-shell]}]}");
    std::fs::write(at("no-shell"), "#!/no/such/shell\n").unwrap();
    std::fs::set_permissions(at("no-shell"), PermissionsExt::from_mode(0o755)).unwrap();
    let (printed, _) = run_expecting(3, &doctor);
    assert!(
        printed.contains("no-shell begins with `#!/no/such/shell`, which does not exist"),
        "{printed}"
    );
    role("driver: {socket: csi.sock, names: {name: disk.my.org, topologyKeys: [topology.disk.my.org/node]}}");
    let (printed, _) = run_expecting(3, &doctor);
    assert!(
        printed.contains("MISSING  driver's socket ") && printed.contains("start the driver, or correct"),
        "{printed}"
    );
    role("publisher: {argv: [./gone]}");
    let (printed, error) = run_expecting(3, &doctor);
    assert!(printed.contains("ok       temporary files"), "{printed}");
    assert!(error.contains("no program at "), "{error}");
    role("publisher: {argv: ./my-publisher}");
    let (_, error) = run_expecting(2, &doctor);
    assert!(error.contains("sut.yaml:5:21: `argv` takes a list"), "{error}");
}

/// Writes a publisher script that has the usual flags and exits at once.
fn write_publisher_script(folder: &Path) {
    let path = folder.join("my-publisher");
    let text = "#!/bin/sh\ntest \"$1\" = --help || exit 7\n\
                echo '  --kubeconfig FILE  -csi-address PATH  --poll-interval TIME  --strict-topology'\n";
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn run_with_input(folder: &Path, args: &[&str], answers: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Writing fails if the program exits without a prompt.
    child.stdin.take().unwrap().write_all(answers.as_bytes()).ok();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn usual_flags_are_recognised_and_tried() {
    let folder = tempfile::tempdir().unwrap();
    write_publisher_script(folder.path());
    let arguments = ["init", "--role=publisher", "--", "./my-publisher", "--plain"];
    let (code, out, error) = run_with_input(folder.path(), &arguments, "");
    assert_eq!(code, Some(1), "{out}{error}");
    for part in [
        "recognised  --csi-address={csi_socket} ",
        "recognised  --poll-interval={refresh} ",
        "failed      publisher/value/",
        "exit status: 7",
    ] {
        assert!(out.contains(part), "no “{part}” in:\n{out}");
    }
    let written = std::fs::read_to_string(folder.path().join("sut.yaml")).unwrap();
    for part in [
        "name: my-publisher",
        "- --plain",
        "--kubeconfig={kubeconfig}",
        "strictTopology:",
        "- publisher.central",
    ] {
        assert!(written.contains(part), "no “{part}” in:\n{written}");
    }
    // The trial cases of these features failed, so the manifest does not claim them.
    assert!(!written.contains("publisher.strict-topology"), "{written}");
    let sut = folder.path().join("sut.yaml");
    run_expecting(0, &["list", "publisher", "--sut", sut.to_str().unwrap()]);
}

#[test]
fn flags_of_a_subcommand_are_recognised_and_the_log_of_a_failed_trial_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my-tool");
    // The flags of the publisher are printed by `publish --help` only.
    let text = "#!/bin/sh\ncase \"$*\" in\n'publish --help') echo '  --kubeconfig FILE --csi-address PATH --poll-interval TIME';;\n\
                *--help) echo 'commands: publish';;\npublish*) echo 'no database'; exit 7;;\n*) exit 3;;\nesac\n";
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let arguments = ["init", "--role=publisher", "--", "./my-tool", "publish"];
    let (code, out, error) = run_with_input(folder.path(), &arguments, "");
    assert_eq!(code, Some(1), "{out}{error}");
    for part in [
        "recognised  --csi-address={csi_socket} ",
        "exit status: 7",
        "            publisher: no database\n",
    ] {
        assert!(out.contains(part), "no “{part}” in:\n{out}");
    }
}

#[test]
fn a_program_that_exits_at_once_gets_a_manifest_and_a_failure_message() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, error) = run_with_input(folder.path(), &["init"], "publisher\ntrue\n");
    assert_eq!(code, Some(1), "{out}{error}");
    for part in [
        "missing     {kubeconfig}",
        "failed      publisher/value/",
        "ended by itself",
        "wrote       sut.yaml",
    ] {
        assert!(out.contains(part), "no “{part}” in:\n{out}");
    }
    let (code, _, error) = run_with_input(folder.path(), &["init"], "publisher\ntrue\n");
    assert_eq!(code, Some(2));
    assert!(error.contains("sut.yaml already exists"), "{error}");
}

/// The program of another crate, for which cargo sets no environment variable. A workspace build writes it into the same folder; otherwise
/// it is built here.
fn fake_csi() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_csi-capacity")).with_file_name("fake-csi");
    if !program.is_file() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["build", "--quiet", "--package", "fake-csi"])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .status();
        assert!(built.unwrap().success());
    }
    program
}

#[test]
fn a_driver_is_called_for_its_names_and_tried() {
    let folder = tempfile::tempdir().unwrap();
    symlink(fake_csi(), folder.path().join("my-driver")).unwrap();
    let answers = "driver\n./my-driver --name=disk.my.org --segment=topology.disk.my.org/host=host-{node} --capacity=100Gi\n";
    let (code, out, error) = run_with_input(folder.path(), &["init"], answers);
    assert_eq!(code, Some(0), "{out}{error}");
    for part in [
        "recognised  --socket={csi_socket} ",
        "recognised  --node={node} ",
        "recognised  disk.my.org ",
        "recognised  topology.disk.my.org/host=host-{node} ",
        "passed      driver/identity/ready",
        "(driver.maximum)",
    ] {
        assert!(out.contains(part), "no “{part}” in:\n{out}");
    }
    let sut = folder.path().join("sut.yaml");
    let sut = sut.to_str().unwrap();
    let written = std::fs::read_to_string(sut).unwrap();
    assert!(written.contains("name: disk.my.org"), "{written}");
    let (messages, _) = run_expecting(
        0,
        &[
            "conformance",
            "--sut",
            sut,
            "driver/identity",
            "driver/capacity/valid-sizes",
        ],
    );
    assert!(messages.contains(" 0 failed"), "{messages}");
}

#[test]
fn a_driver_that_does_not_start_gets_a_manifest_and_a_failure_message() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, error) = run_with_input(folder.path(), &["init", "--role=driver", "--", "true"], "");
    assert_eq!(code, Some(1), "{out}{error}");
    for part in [
        "missing     {csi_socket}",
        "missing     its name and topology",
        "ended by itself",
        "failed      driver/identity/",
        "wrote       sut.yaml",
    ] {
        assert!(out.contains(part), "no “{part}” in:\n{out}");
    }
}

#[test]
fn a_built_in_manifest_can_be_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (code, ..) = run_with_input(folder.path(), &["init", "--from", "kube-scheduler"], "");
    assert_eq!(code, Some(0));
    let text = std::fs::read_to_string(folder.path().join("sut.yaml")).unwrap();
    assert!(text.contains("name: kube-scheduler"), "{text}");
    let (code, _, error) = run_with_input(
        folder.path(),
        &["init", "--from", "nothing", "-o", "other.yaml"],
        "",
    );
    assert_eq!(code, Some(2));
    assert!(error.contains("name one of csi-driver-host-path, "), "{error}");
}

#[test]
fn missing_arguments_without_a_terminal_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, error) = run_with_input(folder.path(), &["init"], "");
    assert_eq!(code, Some(2));
    assert!(error.contains("add --role"), "{error}");
    assert!(
        xtask(&["init", "--role=publisher", "--", "/no/program"])
            .status
            .code()
            == Some(3)
    );
}
