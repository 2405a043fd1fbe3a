//! Ctrl-C during long commands: each ends with 130, says what that means for its result, and leaves nothing in the temporary folder.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::program::text;

/// Whether a process hears SIGINT, as the system says.
fn hears(child: &Child) -> bool {
    const SIGINT: u64 = 1 << 1;
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & SIGINT != 0)
}

/// Interrupts a command as soon as it hears that, and returns what it says.
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
    while !hears(&child) {
        assert_eq!(child.try_wait().unwrap(), None, "{args:?} has ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{args:?}: {said}");
    assert_eq!(
        std::fs::read_dir(temporary.path()).unwrap().count(),
        0,
        "{args:?} leaves something"
    );
    said
}

#[test]
fn long_commands_say_what_an_interrupt_means() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let program = here.join("hangs");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 60\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    for (args, words) in [
        (&["e2e", "--keep-going"][..], " cases have no verdict"),
        (&["selftest"], ""),
        (&["explore", "--budget=1h"], ""),
        (&["study", "burst"], "nothing is said"),
        (&["bench", "publisher", "--as-built"], "nothing is told"),
        (&["bench", "scheduler", "--as-built"], "nothing is told"),
        (&["rbac", "publisher"], "not proven"),
        (&["sweep", "publisher/value"], "0 of 16 cases were swept"),
        (
            &["init", "--role=publisher", "--", "./hangs"],
            "no manifest was written",
        ),
    ] {
        let said = interrupted(here, args);
        assert!(said.contains(words), "{args:?}: no “{words}” in {said}");
    }
    assert!(!here.join("sut.yaml").exists());
}
