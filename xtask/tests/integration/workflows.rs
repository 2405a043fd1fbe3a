//! The GitHub action and the workflows, as far as they can be checked locally: the syntax is valid, and all names and files exist.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::program::text;

fn read(name: &str) -> (String, Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    (text, value)
}

/// The names after `prefix` in expressions such as `${{ inputs.sut }}`.
fn expression_names<'t>(text: &'t str, prefix: &str) -> BTreeSet<&'t str> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let expressions = text
        .split("${{")
        .skip(1)
        .filter_map(|rest| rest.split("}}").next());
    let names = expressions.filter_map(|it| it.trim().strip_prefix(prefix));
    names
        .map(|name| &name[..name.find(|letter| !is_of_name(letter)).unwrap_or(name.len())])
        .collect()
}

fn steps(value: &Value) -> Vec<&Value> {
    let of_action = value["runs"]["steps"].as_array().into_iter().flatten();
    let jobs = value["jobs"].as_object().into_iter().flatten();
    let of_jobs = jobs.flat_map(|(_, job)| job["steps"].as_array().into_iter().flatten());
    of_action.chain(of_jobs).collect()
}

#[test]
fn the_action_uses_exactly_its_inputs() {
    let (text, action) = read("action.yml");
    assert_eq!(action["runs"]["using"], "composite");
    let declared: BTreeSet<&str> = action["inputs"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(expression_names(&text, "inputs."), declared);
    for (name, input) in action["inputs"].as_object().unwrap() {
        assert!(input["description"].is_string(), "{name} has no description");
        assert!(
            input["required"] == true || input["default"].is_string(),
            "{name} is neither required nor has a default"
        );
    }
    for step in steps(&action) {
        assert!(
            step["uses"].is_string() != (step["run"].is_string() && step["shell"].is_string()),
            "{step}"
        );
        // An input in the text of a script would allow shell injection.
        assert!(
            !step["run"].as_str().unwrap_or_default().contains("${{"),
            "{step}"
        );
    }
}

#[test]
fn inputs_of_the_action_in_pages_exist() {
    let page = include_str!("../../../docs/manifest.md");
    let (_, action) = read("action.yml");
    let usage = page
        .split("csi-capacity-harness@")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let given: Vec<&str> = usage
        .lines()
        .skip(2)
        .filter_map(|line| line.trim().split_once(':'))
        .map(|(name, _)| name)
        .collect();
    assert!(!given.is_empty());
    for name in given {
        assert!(action["inputs"][name].is_object(), "{name} is no input");
    }
}

#[test]
fn workflows_have_runnable_steps_and_existing_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github/workflows");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (text, workflow) = read(&format!(".github/workflows/{name}"));
        let steps = steps(&workflow);
        assert!(!steps.is_empty(), "{name}");
        for step in steps {
            assert!(
                step["uses"].is_string() != step["run"].is_string(),
                "{name}: {step}"
            );
        }
        for script in text.split_whitespace().filter(|word| word.starts_with(".ci/")) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(script);
            assert!(path.is_file(), "{name} runs {script}, which does not exist");
        }
        for key in expression_names(&text, "matrix.") {
            let jobs = workflow["jobs"].as_object().unwrap().values();
            let rows = jobs.flat_map(|job| {
                job["strategy"]["matrix"]["include"]
                    .as_array()
                    .into_iter()
                    .flatten()
            });
            assert!(
                rows.clone().count() > 0 && rows.into_iter().all(|row| row[key].is_string()),
                "{name}: matrix.{key}"
            );
        }
    }
}

/// Packs the program into an archive with this name in a folder.
fn package_program(folder: &Path, name: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/package");
    let mut command = Command::new(script);
    command
        .args([env!("CARGO_BIN_EXE_csi-capacity"), name])
        .current_dir(folder);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_package_has_the_program_its_pages_and_a_valid_checksum() {
    let folder = tempfile::tempdir().unwrap();
    package_program(folder.path(), "csi-capacity-test");
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program)
            .args(args)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    run("sha256sum", &["--check", "csi-capacity-test.tar.gz.sha256"]);
    let listed = run("tar", &["-tzf", "csi-capacity-test.tar.gz"]);
    for file in [
        "csi-capacity",
        "kubectl-capacity",
        "completions/csi-capacity.bash",
        "man/csi-capacity.1",
        "LICENSE",
    ] {
        assert!(
            listed
                .lines()
                .any(|line| line == format!("csi-capacity-test/{file}")),
            "{file}: {listed}"
        );
    }
}

/// Installs a release from a local folder instead of the download.
fn install(release: &Path, runner: &Path) -> Output {
    let programs = runner.join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    // The argument after `--dir` is the target folder.
    let gh = "#!/bin/sh\nwhile [ \"$1\" != --dir ]; do shift; done\ncp \"$RELEASE\"/* \"$2\"\n";
    for (name, text) in [("gh", gh), ("cargo", "#!/bin/sh\nexit 99\n")] {
        let path = programs.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let usual = std::env::var("PATH").unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/install");
    let mut command = Command::new(script);
    command
        .env("PATH", format!("{}:{usual}", programs.display()))
        .env("RELEASE", release)
        .env("RUNNER_TEMP", runner)
        .env("GITHUB_PATH", runner.join("path"))
        .envs([("REF", "v0.1.0"), ("REPOSITORY", "o/r"), ("SOURCE", "nowhere")]);
    command.output().unwrap()
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn the_action_installs_a_release_only_if_its_checksum_matches() {
    let (release, runner) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let name = "csi-capacity-v0.1.0-x86_64-unknown-linux-musl";
    package_program(release.path(), name);
    let sums = release.path().join(format!("{name}.tar.gz.sha256"));
    let sums = std::fs::read_to_string(sums).unwrap();
    std::fs::write(release.path().join("SHA256SUMS"), &sums).unwrap();
    let installed = install(release.path(), runner.path());
    assert!(installed.status.success(), "{}", text(&installed.stderr));
    let path = std::fs::read_to_string(runner.path().join("path")).unwrap();
    assert!(Path::new(path.trim()).join("csi-capacity").is_file());
    // The checksums are those of another package, or missing.
    for wrong in [
        sums.replacen(|letter: char| letter.is_ascii_hexdigit(), "x", 1),
        String::new(),
    ] {
        std::fs::write(release.path().join("SHA256SUMS"), wrong).unwrap();
        let runner = tempfile::tempdir().unwrap();
        assert!(!install(release.path(), runner.path()).status.success());
        assert!(!runner.path().join("path").exists());
    }
}
