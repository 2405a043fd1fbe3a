//! Helpers that run the program to its end, or start it as a server. Does not interpret the output.

#![allow(dead_code, reason = "included by several test crates, which use parts of it")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

pub(crate) fn xtask(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
    command.args(args).env("NO_COLOR", "1").output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs the program and checks the exit code. Returns standard output and standard error.
pub(crate) fn run_expecting(code: i32, args: &[&str]) -> (String, String) {
    let output = xtask(args);
    let streams = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(code),
        "{args:?}:\n{}{}",
        streams.0,
        streams.1
    );
    streams
}

/// A running program that has printed `ready`. The program is killed on drop, even when a test fails.
pub(crate) struct Serving {
    pub(crate) child: Child,
    /// The output lines before `ready`.
    pub(crate) messages: Vec<String>,
}

impl Serving {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
            .args(args)
            .env("NO_COLOR", "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut messages = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            messages.push(line.unwrap());
            if messages.last().unwrap() == "ready" {
                return Self { child, messages };
            }
        }
        panic!(
            "the program ended with {} after {messages:?}",
            child.wait().unwrap()
        );
    }

    /// Sends a signal such as `-INT`, and waits for the exit.
    pub(crate) fn end(mut self, signal: &str) -> ExitStatus {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().ok();
    }
}
