//! Every command that the pages show: those that need nothing of the reader's are run as they stand, in one folder for each page, and of
//! the others the words are understood.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::text;

/// Commands of this program that are run: the beginnings of their words. They need nothing but what the commands before them made.
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

/// Commands of other programs, by their first words. Whether they do what is said is seen where they are: by cargo, kubectl or an engine.
const OTHERS: &[&str] = &[
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

/// How the program is called in pages: its name, its place in a checkout, and the plugin.
const NAMES: [(&str, &str); 3] = [
    ("csi-capacity ", "csi-capacity"),
    ("cargo xtask ", "csi-capacity"),
    ("kubectl capacity ", "kubectl-capacity"),
];

/// Whether a command needs nothing of the reader's, and ends well.
fn is_run(command: &str) -> bool {
    RUN.iter().any(|it| command.starts_with(it))
        && !["--sut", "--defect"].iter().any(|it| command.contains(it))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pages that a user reads, with their texts.
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

/// The commands of a page's console blocks, in their order.
fn commands(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.strip_prefix("console\n"));
    blocks
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("$ "))
}

/// A folder to stand in, with the program under both of its names beside it.
struct Place {
    here: tempfile::TempDir,
    programs: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let programs = tempfile::tempdir().unwrap();
        for name in ["csi-capacity", "kubectl-capacity"] {
            symlink(env!("CARGO_BIN_EXE_csi-capacity"), programs.path().join(name)).unwrap();
        }
        Place {
            here: tempfile::tempdir().unwrap(),
            programs,
        }
    }

    /// Runs a line as a shell does, where nothing else is; what it prints, if it went well.
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
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        match output.status.code() {
            Some(0) => Ok(said),
            code => Err(format!("{line}: exit code {code:?}\n{said}")),
        }
    }

    /// Whether the words are those of a command; what stands in brackets is left out.
    fn is_understood(&self, program: &str, words: &str) -> Result<String, String> {
        let words = words.split(" > ").next().unwrap_or_default();
        let words = words.split(" -- ").next().unwrap_or_default();
        let words = words.split_whitespace().filter(|word| !word.starts_with('['));
        let words: Vec<&str> = words.collect();
        self.run(&format!("{program} {} --help", words.join(" ")))
    }
}

#[test]
fn every_command_of_a_page_runs_or_is_understood() {
    let mut ran = 0;
    for (path, page) in pages() {
        let place = Place::new();
        for command in commands(&page) {
            let told = match NAMES.iter().find(|(shown, _)| command.starts_with(shown)) {
                Some(_) if is_run(command) => {
                    ran += 1;
                    place.run(command)
                }
                Some((shown, program)) => place.is_understood(program, &command[shown.len()..]),
                None if OTHERS.iter().any(|it| command.starts_with(it)) => continue,
                None => Err(format!(
                    "`{command}` is neither run nor known; name it in this test"
                )),
            };
            if let Err(why) = told {
                panic!("{path}: {why}");
            }
        }
    }
    assert!(ran > 5, "{ran} commands were run");
}

#[test]
fn links_between_pages_lead_somewhere() {
    for (path, page) in pages() {
        let folder = Path::new(&path).parent().unwrap().to_owned();
        let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let file = target.split('#').next().unwrap();
            assert!(
                folder.join(file).exists(),
                "{path} leads to {target}, which is not there"
            );
        }
    }
}

/// The failure on the first page is what the program says.
#[test]
fn the_failure_on_the_first_page_is_as_it_is_shown() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let place = Place::new();
    let command = commands(&readme)
        .find(|command| command.contains("--defect"))
        .unwrap();
    let told = place.run(&format!("{command} --simulate")).unwrap_err();
    // Times and names that are drawn differ from run to run.
    for part in [
        "verdict timed out",
        "~ fast  n1  10Gi (maximum 4Gi)  10Gi  differs",
        "<-- first missing link",
    ] {
        assert!(
            readme.contains(part) && told.contains(part),
            "no “{part}” in:\n{told}"
        );
    }
}

/// `up` of a page serves until it is told to stop.
#[test]
fn what_up_prints_ends_with_ready() {
    let place = Place::new();
    let mut child = Command::new(place.programs.path().join("csi-capacity"))
        .arg("up")
        .current_dir(place.here.path())
        .env_remove("CARGO_MANIFEST_DIR")
        .env("TMPDIR", place.here.path())
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
