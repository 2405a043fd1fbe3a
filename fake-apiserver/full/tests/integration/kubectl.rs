//! A recorded kubectl session, run with each available kubectl version.
//!
//! `KUBECTL` lists the kubectl programs, separated by colons; if it is unset, the test is skipped with a message. `kubectl/session.txt` is
//! the session. A line with `$` is a command, followed by its expected output, without empty lines and with runs of spaces reduced to one;
//! `*` matches anything. `= 1.27 1.28` starts the output of these versions. The last line is the exit code, unless it is 0. Each version
//! runs against its own server.

use fake_apiserver::{Admission, ApiServer, Authorization, ServerOptions, User};
use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of the kubectl session, with its expected output.
struct Step {
    command: &'static str,
    expected: Vec<&'static str>,
    /// Outputs that differ from the usual output, each with the kubectl versions that print it.
    others: Vec<(Vec<&'static str>, Vec<&'static str>)>,
}

fn session() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in include_str!("../kubectl/session.txt").lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command,
                expected: Vec::new(),
                others: Vec::new(),
            });
            continue;
        }
        let step = steps.last_mut().expect("expected output follows a command");
        match (line.strip_prefix("= "), step.others.last_mut()) {
            (Some(versions), _) => step.others.push((versions.split(' ').collect(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => step.expected.push(line),
        }
    }
    steps
}

/// Splits a command into words, respecting quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().expect("not empty").push(letter),
        }
    }
    words
}

/// Whether an output line matches a pattern, in which `*` matches any text.
fn matches(pattern: &str, line: &str) -> bool {
    let mut parts: VecDeque<&str> = pattern.split('*').collect();
    let first = parts.pop_front().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.pop_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A kubectl program, run with a home folder of its own.
struct Kubectl<'a> {
    program: &'a Path,
    home: &'a Path,
}

impl Kubectl<'_> {
    /// The output lines of a command, and its exit code unless it is 0.
    fn run(&self, words: &[String]) -> Vec<String> {
        let output = Command::new(self.program)
            .args(words)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubectl"))
            .env("HOME", self.home)
            .env("KUBECONFIG", self.home.join("kubeconfig"))
            .env("EDITOR", "sed -i s/one/edited/")
            .env("KUBECTL_EXTERNAL_DIFF", "diff -u")
            .output()
            .expect("the program named in KUBECTL runs");
        let text = [output.stdout, vec![b'\n'], output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        // The version skew between client and server does not matter here.
        let reported =
            lines.filter(|line| !line.is_empty() && !line.starts_with("WARNING: version difference"));
        let code = output.status.code().unwrap_or(-1);
        reported.chain((code != 0).then(|| format!("[{code}]"))).collect()
    }

    /// The kubectl version, for example `1.27`.
    fn version(&self) -> String {
        let words = ["version", "--client", "-o", "json"].map(str::to_owned);
        let text = self.run(&words).join("");
        let client: serde_json::Value = serde_json::from_str(&text).expect("`kubectl version` prints JSON");
        let number = |part: &str| {
            client["clientVersion"][part]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        format!("{}.{}", number("major"), number("minor").trim_end_matches('+'))
    }
}

/// The kubectl programs in `KUBECTL`.
fn programs() -> Vec<PathBuf> {
    let named = std::env::var("KUBECTL").unwrap_or_default();
    named
        .split(':')
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// The commands of the kubectl session whose output differs from the expected output.
fn failures(kubectl: &Kubectl<'_>) -> Vec<String> {
    let version = kubectl.version();
    let mut failures = Vec::new();
    for step in session() {
        let other = step
            .others
            .iter()
            .find(|(versions, _)| versions.contains(&version.as_str()));
        let expected = other.map_or(&step.expected, |(_, lines)| lines);
        let printed = kubectl.run(&words(step.command));
        let is_same = expected.len() == printed.len()
            && expected
                .iter()
                .zip(&printed)
                .all(|(pattern, line)| matches(pattern, line));
        if !is_same {
            let (wanted, got) = (expected.join("\n"), printed.join("\n"));
            failures.push(format!(
                "{version} $ {}\nwanted:\n{wanted}\ngot:\n{got}\n",
                step.command
            ));
        }
    }
    failures
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_sessions_print_the_recorded_output() {
    let programs = programs();
    if programs.is_empty() {
        let text = "kubectl: skipped, because KUBECTL lists no program";
        writeln!(std::io::stderr(), "{text}").expect("stderr is writable");
    }
    for program in programs {
        let options = ServerOptions {
            authorization: Authorization::Rbac,
            kubelet_less: false,
            admission: Admission::kubernetes_defaults(),
            ..ServerOptions::default()
        };
        let server = ApiServer::with_extensions(options, None, crate::extensions());
        let token = server.add_user(User::new("example").in_group("system:masters"));
        let running = server.start_tls().await.expect("a free loopback port");
        let home = tempfile::tempdir().expect("a temporary home folder can be created");
        let kubeconfig = home.path().join("kubeconfig");
        running
            .write_kubeconfig(&kubeconfig, &token)
            .expect("the kubeconfig can be written");
        let failures = tokio::task::block_in_place(|| {
            failures(&Kubectl {
                program: &program,
                home: home.path(),
            })
        });
        running.stop().await;
        let (count, text) = (failures.len(), failures.join("\n"));
        assert_eq!(count, 0, "{}:\n{text}", program.display());
    }
}

#[test]
fn asterisks_match_any_text() {
    for (pattern, line, same) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a*", "ab", true),
        ("*b*d", "abcd", true),
        ("*b*d", "adcb", false),
        ("a*a", "a", false),
        ("", "a", false),
    ] {
        assert_eq!(matches(pattern, line), same, "{pattern} {line}");
    }
}
