//! A session of the real kubectl, in every version that is at hand.
//!
//! `KUBECTL` names the programs, with colons between them; without it there is nothing to run, and the test says so.
//! `kubectl/session.txt` is the session: a line with `$` is a command, and what follows is all that it prints, without
//! empty lines and with one space for many; `*` stands for anything. `= 1.27 1.28` begins what these versions print
//! instead. The last line is the exit code, unless it is 0. Every version gets a server of its own.

use fake_apiserver::{Admission, ApiServer, Authorization, ServerOptions, User};
use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of the session and what it prints.
struct Step {
    command: &'static str,
    expected: Vec<&'static str>,
    /// What some versions print instead.
    others: Vec<(Vec<&'static str>, Vec<&'static str>)>,
}

/// The session as it is written down.
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
        let step = steps.last_mut().expect("a command comes first");
        match (line.strip_prefix("= "), step.others.last_mut()) {
            (Some(versions), _) => step.others.push((versions.split(' ').collect(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => step.expected.push(line),
        }
    }
    steps
}

/// The words of a command; quotes keep words together.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().expect("there is one").push(letter),
        }
    }
    words
}

/// Whether a line is what was expected; stars stand for anything.
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

/// One kubectl with a home of its own.
struct Kubectl<'a> {
    program: &'a Path,
    home: &'a Path,
}

impl Kubectl<'_> {
    /// What a command prints, line by line, and its exit code if that is not 0.
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
        // How far the versions are apart is no matter here.
        let told = lines.filter(|line| !line.is_empty() && !line.starts_with("WARNING: version difference"));
        let code = output.status.code().unwrap_or(-1);
        told.chain((code != 0).then(|| format!("[{code}]"))).collect()
    }

    /// `1.27`
    fn version(&self) -> String {
        let words = ["version", "--client", "-o", "json"].map(str::to_owned);
        let text = self.run(&words).join("");
        let client: serde_json::Value = serde_json::from_str(&text).expect("the version is told in JSON");
        let number = |part: &str| {
            client["clientVersion"][part]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        format!("{}.{}", number("major"), number("minor").trim_end_matches('+'))
    }
}

/// The programs that are at hand.
fn programs() -> Vec<PathBuf> {
    let named = std::env::var("KUBECTL").unwrap_or_default();
    named
        .split(':')
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// All commands of the session that print something else than they should.
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
async fn a_session_goes_as_with_the_real_server() {
    let programs = programs();
    if programs.is_empty() {
        let text = "kubectl: skipped, for KUBECTL names no program";
        writeln!(std::io::stderr(), "{text}").expect("standard error is open");
    }
    for program in programs {
        let options = ServerOptions {
            authorization: Authorization::Rbac,
            kubelet_less: false,
            admission: Admission::of_kubernetes(),
            ..ServerOptions::default()
        };
        let server = ApiServer::new(options, None);
        let token = server.add_user(User::new("example").in_group("system:masters"));
        let running = server.start_tls().await.expect("a loopback port is free");
        let home = tempfile::tempdir().expect("there is room for a home");
        let kubeconfig = home.path().join("kubeconfig");
        running
            .write_kubeconfig(&kubeconfig, &token)
            .expect("the home can be written");
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
fn stars_stand_for_anything() {
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
