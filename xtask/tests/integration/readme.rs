//! Examples in the README and the pages that it links: commands in tables can be parsed, manifests can be loaded, and the case can be run.

use crate::program::xtask;
use std::os::unix::fs::PermissionsExt;

const README: &str = include_str!("../../../README.md");
const MANIFEST: &str = include_str!("../../../docs/manifest.md");
const BUG: &str = include_str!("../../../docs/bug.md");

/// The first code block in this language that contains the given text.
fn block(page: &'static str, language: &str, part: &str) -> &'static str {
    let mut blocks = page.split("```").skip(1).step_by(2);
    let found = blocks.find_map(|block| block.strip_prefix(language).filter(|block| block.contains(part)));
    found.unwrap_or_else(|| panic!("no block of {language} with {part}"))
}

#[test]
fn every_command_of_a_table_parses() {
    let commands: Vec<&str> = [README, MANIFEST, BUG]
        .iter()
        .flat_map(|page| page.split("| `csi-capacity ").skip(1))
        .map(|rest| rest.split('`').next().unwrap())
        .collect();
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands {
        // Optional arguments in brackets are left out.
        let words: Vec<&str> = command
            .split_whitespace()
            .filter(|word| !word.starts_with('['))
            .chain(["--help"])
            .collect();
        let output = xtask(&words);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{command}: {error}");
    }
}

#[test]
fn the_manifest_loads_and_lists_its_skips() {
    let folder = tempfile::tempdir().unwrap();
    let (program, manifest) = (folder.path().join("my-publisher"), folder.path().join("sut.yaml"));
    std::fs::write(&program, "").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(&manifest, block(MANIFEST, "yaml", "name: my-publisher")).unwrap();
    let output = xtask(&["list", "--sut", manifest.to_str().unwrap()]);
    let (out, error) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert_eq!(output.status.code(), Some(0), "{error}");
    for part in [
        "skip: publisher.distributed is not claimed",
        "skip: the case has no publisher",
        "known to fail until 2027-06-30: it retries without back-off",
    ] {
        assert!(out.contains(part), "no “{part}” in:\n{out}");
    }
}

#[test]
fn the_manifest_of_a_driver_loads_and_driver_cases_apply() {
    let folder = tempfile::tempdir().unwrap();
    let (program, manifest) = (folder.path().join("my-driver"), folder.path().join("sut.yaml"));
    std::fs::write(&program, "").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(&manifest, block(MANIFEST, "yaml", "name: my-driver")).unwrap();
    let output = xtask(&["list", "driver", "--sut", manifest.to_str().unwrap()]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let skipped: Vec<&str> = out.lines().filter(|line| line.contains("skip: ")).collect();
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert_eq!(skipped.len(), 1, "{out}");
    assert!(
        skipped[0].contains(
            "the case sets capabilities of the driver (`driver`), which only the built-in driver supports"
        ),
        "{out}"
    );
}

#[test]
fn the_case_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("first.yaml");
    std::fs::write(&file, block(README, "yaml", "id: story/mine/first")).unwrap();
    let output = xtask(&["repro", file.to_str().unwrap()]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{out}");
}
