//! The edges between our crates, as the architecture allows them, and within each the imports of its files, which form no circle. Read
//! from `cargo metadata` and from the sources, so that nothing can disagree.

#[path = "../../../fake-apiserver/tests/integration/imports.rs"]
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use imports::{Imports, shown};

/// Crate → what it may use of ours. What is not listed uses nothing of ours.
const ALLOWED: &[(&str, &[&str])] = &[
    ("fake-csi", &["csi-proto"]),
    (
        "capacity-publisher",
        &["capacity-client", "capacity-types", "csi-proto"],
    ),
    ("capacity-diagnose", &["capacity-scheduler", "capacity-types"]),
    ("capacity-scheduler", &["capacity-client", "capacity-types"]),
    (
        "harness",
        &["capacity-spec", "capacity-types", "fake-apiserver", "fake-csi"],
    ),
    // The specification shares words with the references, and no logic.
    ("capacity-spec", &["capacity-types"]),
    // Experiments, with the references, and with the scheduler's own filter and score where a decision takes part.
    (
        "labs",
        &[
            "capacity-publisher",
            "capacity-scheduler",
            "capacity-types",
            "references",
            "suites",
        ],
    ),
    // The references, compiled anew with mistakes, and the command line that runs them.
    (
        "mutants",
        &[
            "built-in-files",
            "capacity-client",
            "capacity-types",
            "csi-proto",
            "references",
            "suites",
            "xtask",
        ],
    ),
    ("real-server", &["capacity-types", "fake-apiserver", "harness"]),
    (
        "references",
        &[
            "capacity-publisher",
            "capacity-scheduler",
            "capacity-types",
            "suites",
        ],
    ),
    ("suites", &["capacity-types", "harness"]),
    ("example-cleaner", &["capacity-publisher"]),
    ("example-driver", &["fake-csi"]),
    ("fake-apiserver-full", &["fake-apiserver"]),
    (
        "xtask",
        &[
            "built-in-files",
            "capacity-diagnose",
            "capacity-scheduler",
            "capacity-types",
            "labs",
            "real-server",
            "references",
            "suites",
        ],
    ),
];

/// Tests may use more: the suites are tested with the references, with their pure parts, with the publisher alone between the fakes, and
/// with the labs that the catalogue names as evidence.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[
    ("example-cleaner", &["built-in-files", "suites"]),
    ("example-driver", &["references", "suites"]),
    ("mutants", &["labs"]),
    (
        "suites",
        &[
            "labs",
            "references",
            "capacity-diagnose",
            "capacity-publisher",
            "capacity-scheduler",
            "capacity-spec",
            "capacity-types",
            "csi-proto",
            "fake-apiserver",
            "fake-csi",
        ],
    ),
];

const MEMBERS: &[&str] = &[
    "built-in-files",
    "capacity-client",
    "capacity-diagnose",
    "capacity-publisher",
    "capacity-scheduler",
    "capacity-spec",
    "capacity-types",
    "csi-proto",
    "example-cleaner",
    "example-driver",
    "fake-apiserver",
    "fake-apiserver-full",
    "fake-csi",
    "harness",
    "labs",
    "mutants",
    "real-server",
    "references",
    "suites",
    "xtask",
];

/// The workspace, as cargo describes it.
fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn packages() -> Vec<Value> {
    metadata()["packages"].as_array().unwrap().clone()
}

fn name(value: &Value) -> String {
    value["name"].as_str().unwrap().to_owned()
}

/// Crate → crates of ours that it depends on; `with_tests`: also for its tests alone.
fn edges(with_tests: bool) -> BTreeMap<String, BTreeSet<String>> {
    let packages = packages();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    let of_package = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        let used = all.filter(|it| with_tests || it["kind"] != "dev").map(name);
        (name(package), used.filter(|used| ours.contains(used)).collect())
    };
    packages.iter().map(of_package).collect()
}

fn assert_allowed(edges: BTreeMap<String, BTreeSet<String>>, allowed: &[&[(&str, &[&str])]]) {
    for (from, targets) in edges {
        let permitted: BTreeSet<&str> = allowed
            .iter()
            .flat_map(|table| table.iter())
            .filter(|(name, _)| *name == from)
            .flat_map(|(_, to)| to.iter().copied())
            .collect();
        for to in targets {
            assert!(permitted.contains(to.as_str()), "{from} must not depend on {to}");
        }
    }
}

#[test]
fn members_are_those_of_the_design() {
    let names: BTreeSet<String> = packages().iter().map(name).collect();
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), MEMBERS);
}

#[test]
fn a_build_makes_all_but_the_labs_and_the_references_with_mistakes() {
    let metadata = metadata();
    let made = metadata["workspace_default_members"].as_array().unwrap();
    let left_out: Vec<String> = packages()
        .iter()
        .filter(|package| !made.contains(&package["id"]))
        .map(name)
        .collect();
    assert_eq!(
        left_out,
        ["labs", "mutants"],
        "add new crates to default-members in Cargo.toml"
    );
}

#[test]
fn crates_use_only_what_they_may() {
    assert_allowed(edges(false), &[ALLOWED]);
}

#[test]
fn tests_use_only_what_they_may() {
    assert_allowed(edges(true), &[ALLOWED, ALLOWED_IN_TESTS]);
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    for package in packages() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let src = Path::new(manifest).parent().unwrap().join("src");
        let mut imports = Imports::read(&src);
        // A folder's `mod.rs` and its files are one: a file may take what its folder says of all of them.
        for (from, targets) in &mut imports.of {
            targets.retain(|to| !from.starts_with(to));
        }
        let circle = imports.circle();
        let circle = circle.map(|files| files.iter().map(shown).collect::<Vec<_>>().join(" → "));
        assert_eq!(
            circle,
            None,
            "{}: these files import each other, the last one the first",
            name(&package)
        );
    }
}
