//! Ctrl-C during long commands: each command exits with 130, prints the consequence for its result, and removes its temporary files.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::program::text;

/// Whether a process handles SIGINT, according to /proc.
fn handles_sigint(child: &Child) -> bool {
    const SIGINT: u64 = 1 << 1;
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & SIGINT != 0)
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Interrupts a command as soon as the command handles SIGINT, and returns the output.
fn interrupted(here: &Path, args: &[&str]) -> String {
    let temporary = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args(args)
        .current_dir(here)
        .env("TMPDIR", temporary.path())
        .env("NO_COLOR", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !handles_sigint(&child) {
        assert_eq!(child.try_wait().unwrap(), None, "{args:?} has ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let messages = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{args:?}: {messages}");
    assert_eq!(
        std::fs::read_dir(temporary.path()).unwrap().count(),
        0,
        "{args:?} leaves something"
    );
    messages
}

#[test]
fn long_commands_report_what_an_interrupt_means() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let program = here.join("hangs");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 60\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    for (args, words) in [
        (&["e2e", "--keep-going"][..], " cases have no verdict"),
        (&["selftest"], ""),
        (&["explore", "--budget=1h"], ""),
        (&["study", "burst"], "no result is printed"),
        (&["bench", "publisher", "--as-built"], "no result is printed"),
        (&["bench", "scheduler", "--as-built"], "no result is printed"),
        (&["rbac", "publisher"], "not verified"),
        (&["sweep", "publisher/value"], "0 of 16 cases were swept"),
        (
            &["init", "--role=publisher", "--", "./hangs"],
            "no manifest was written",
        ),
    ] {
        let messages = interrupted(here, args);
        assert!(messages.contains(words), "{args:?}: no “{words}” in {messages}");
    }
    assert!(!here.join("sut.yaml").exists());
}

/// Whether a process exists and is no zombie.
pub(crate) fn runs(process: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[test]
fn children_of_a_killed_command_end_and_the_next_command_removes_its_folders() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let temporary = at("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let script = format!(
        "#!/bin/sh\nsleep 600 &\nchild=$!\nsetsid sleep 600 &\necho $$ $child $! > {0}.new\nmv {0}.new {0}\nwait\n",
        at("started")
    );
    std::fs::write(at("hangs"), script).unwrap();
    std::fs::set_permissions(at("hangs"), PermissionsExt::from_mode(0o755)).unwrap();
    let manifest = "name: mine\nfeatures: [publisher.central]\nroles: {publisher: {argv: [./hangs]}}\n";
    std::fs::write(at("sut.yaml"), manifest).unwrap();
    let command = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
        command.args(args).env("TMPDIR", &temporary);
        command
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let case = "publisher/value/maximum";
    let sut = [
        "conformance",
        "--sut=sut.yaml",
        "--output=report",
        "--jobs=1",
        case,
    ];
    let mut child = command(&sut).spawn().unwrap();
    let started = loop {
        std::thread::sleep(Duration::from_millis(5));
        match std::fs::read_to_string(at("started")) {
            Ok(started) => break started,
            Err(_) => assert_eq!(child.try_wait().unwrap(), None, "the program has ended"),
        }
    };
    let left = || std::fs::read_dir(&temporary).unwrap().count();
    child.kill().unwrap();
    child.wait().unwrap();
    while started.split_whitespace().any(runs) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(left() > 0, "the program was not killed while it worked");
    let next = ["e2e", "--output=next", case];
    assert!(command(&next).status().unwrap().success());
    assert_eq!(left(), 0);
}

#[test]
fn an_interrupted_sweep_reports_its_progress_and_the_current_case() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args(["sweep", "--jobs=1", "scheduler/filter/tracking"])
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed_text = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = printed_text.next().unwrap().unwrap();
    assert!(first.starts_with("scheduler/filter/tracking/"), "{first}");
    interrupt(&child);
    printed_text.for_each(drop);
    let output = child.wait_with_output().unwrap();
    let messages = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{messages}");
    assert!(
        messages.contains("of 5 cases were swept, with the results above; scheduler/filter/tracking/"),
        "{messages}"
    );
    assert!(messages.contains(" was running, "), "{messages}");
}
