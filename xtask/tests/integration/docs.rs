//! Tests every command in the documentation: self-contained commands are executed in order, in one folder per page; the arguments of the
//! other commands are parsed.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::text;

/// Prefixes of commands that are executed. They need only the files of earlier commands.
const RUN: &[&str] = &[
    "csi-capacity doctor",
    "csi-capacity e2e publisher/value",
    "csi-capacity report merge --parts",
    "csi-capacity explore --seed 7 --worlds 10",
    "csi-capacity report schema",
    "csi-capacity list",
    "csi-capacity selftest --list",
    "csi-capacity explain publisher",
];

/// First words of commands of other programs, which this test does not check.
const UNCHECKED: &[&str] = &[
    "cargo install",
    "cargo run",
    "cargo test",
    "cargo nextest",
    "docker",
    "kubectl get",
    "kubectl apply",
    "kubectl wait",
    "ln -s",
];

/// Names of the program in the documentation: installed, in a checkout, and as a kubectl plugin.
const NAMES: [(&str, &str); 3] = [
    ("csi-capacity ", "csi-capacity"),
    ("cargo xtask ", "csi-capacity"),
    ("kubectl capacity ", "kubectl-capacity"),
];

/// Whether a command is self-contained and succeeds.
fn is_run(command: &str) -> bool {
    RUN.iter().any(|it| command.starts_with(it))
        && !["--sut", "--defect"].iter().any(|it| command.contains(it))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pages of the user documentation, with their texts.
fn pages() -> Vec<(String, String)> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|it| it == "md"));
    let others = [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "suites/CASES.md",
    ];
    let pages = pages.chain(others.map(|name| root().join(name)));
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(path).unwrap());
    pages.map(read).collect()
}

/// The commands in a page's console blocks, in order.
fn commands(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.strip_prefix("console\n"));
    blocks
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("$ "))
}

/// A working directory, and a folder with the program under both of its names.
struct WorkingFolder {
    here: tempfile::TempDir,
    programs: tempfile::TempDir,
}

impl WorkingFolder {
    fn new() -> Self {
        let programs = tempfile::tempdir().unwrap();
        for name in ["csi-capacity", "kubectl-capacity"] {
            symlink(env!("CARGO_BIN_EXE_csi-capacity"), programs.path().join(name)).unwrap();
        }
        WorkingFolder {
            here: tempfile::tempdir().unwrap(),
            programs,
        }
    }

    /// Runs a line in a shell, and returns the output, or an error if the command fails.
    fn run(&self, line: &str) -> Result<String, String> {
        let usual = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(self.here.path())
            .env_clear()
            .env("PATH", format!("{}:{usual}", self.programs.path().display()))
            .env("HOME", self.here.path())
            .output()
            .unwrap();
        let messages = format!("{}{}", text(&output.stdout), text(&output.stderr));
        match output.status.code() {
            Some(0) => Ok(messages),
            code => Err(format!("{line}: exit code {code:?}\n{messages}")),
        }
    }

    /// Checks that the words parse as a command. Optional arguments in brackets are left out.
    fn check_parses(&self, program: &str, words: &str) -> Result<String, String> {
        let words = words.split(" > ").next().unwrap_or_default();
        let words = words.split(" -- ").next().unwrap_or_default();
        let words = words.split_whitespace().filter(|word| !word.starts_with('['));
        let words: Vec<&str> = words.collect();
        self.run(&format!("{program} {} --help", words.join(" ")))
    }
}

#[test]
fn every_command_of_a_page_runs_or_parses() {
    let mut ran = 0;
    for (path, page) in pages() {
        let folder_under_test = WorkingFolder::new();
        for command in commands(&page) {
            let printed = match NAMES.iter().find(|(shown, _)| command.starts_with(shown)) {
                Some(_) if is_run(command) => {
                    ran += 1;
                    folder_under_test.run(command)
                }
                Some((shown, program)) => folder_under_test.check_parses(program, &command[shown.len()..]),
                None if UNCHECKED.iter().any(|it| command.starts_with(it)) => continue,
                None => Err(format!(
                    "`{command}` is neither run nor known; name it in this test"
                )),
            };
            if let Err(why) = printed {
                panic!("{path}: {why}");
            }
        }
    }
    assert!(ran > 5, "{ran} commands were run");
}

#[test]
fn links_between_pages_have_targets() {
    for (path, page) in pages() {
        let folder = Path::new(&path).parent().unwrap().to_owned();
        let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let file = target.split('#').next().unwrap();
            assert!(
                folder.join(file).exists(),
                "{path} links to {target}, which does not exist"
            );
        }
    }
}

#[test]
fn the_failure_in_the_readme_is_current() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let folder_under_test = WorkingFolder::new();
    let command = commands(&readme)
        .find(|command| command.contains("--defect"))
        .unwrap();
    let printed = folder_under_test
        .run(&format!("{command} --simulate"))
        .unwrap_err();
    // Only these parts are compared, because times and random names differ between runs.
    for part in [
        "verdict timed out",
        "~ fast  n1  10Gi (maximum 4Gi)  10Gi  differs",
        "<-- first missing link",
    ] {
        assert!(
            readme.contains(part) && printed.contains(part),
            "no “{part}” in:\n{printed}"
        );
    }
}

/// On a page of the documentation, `up` is started and runs until it is interrupted.
#[test]
fn the_output_of_up_ends_with_ready() {
    let folder_under_test = WorkingFolder::new();
    let mut child = Command::new(folder_under_test.programs.path().join("csi-capacity"))
        .arg("up")
        .current_dir(folder_under_test.here.path())
        .env_remove("CARGO_MANIFEST_DIR")
        .env("TMPDIR", folder_under_test.here.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = lines.map(|line| line.unwrap()).any(|line| line == "ready");
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(ready && sent.success() && child.wait().unwrap().success());
}
