//! Checks the dependencies between the crates of this workspace against the architecture, and that the modules of each crate have no import
//! cycles. Reads the output of `cargo metadata` and the sources.

#[path = "../../../fake-apiserver/tests/integration/imports.rs"]
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use imports::{Imports, format_module};

/// Allowed dependencies within this workspace, by crate. Unlisted crates may have none.
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
        &[
            "capacity-spec",
            "capacity-types",
            "fake-apiserver",
            "fake-apiserver-apiextensions",
            "fake-apiserver-webhooks",
            "fake-csi",
        ],
    ),
    // The specification shares types with the references, but no logic.
    ("capacity-spec", &["capacity-types"]),
    // The labs use the references in experiments, and call the scheduler's filter and score directly.
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
    // The crate of mutants contains the references with injected bugs, and the command line to run them.
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
    (
        "fake-apiserver-apiextensions",
        &["fake-apiserver", "fake-apiserver-cel"],
    ),
    ("fake-apiserver-cel", &["fake-apiserver"]),
    (
        "fake-apiserver-full",
        &[
            "fake-apiserver",
            "fake-apiserver-apiextensions",
            "fake-apiserver-cel",
            "fake-apiserver-webhooks",
        ],
    ),
    (
        "fake-apiserver-webhooks",
        &["fake-apiserver", "fake-apiserver-cel"],
    ),
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

/// Additional dependencies allowed in tests. `suites` is tested with the references, with the reference publisher alone in a cluster of
/// fake API server and driver, and with the labs, whose studies and self-test are evidence for requirements.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[
    ("example-cleaner", &["built-in-files", "suites"]),
    ("example-driver", &["references", "suites"]),
    (
        "fake-apiserver",
        &["fake-apiserver-apiextensions", "fake-apiserver-webhooks"],
    ),
    ("fake-apiserver-apiextensions", &["fake-apiserver-webhooks"]),
    ("fake-apiserver-webhooks", &["fake-apiserver-apiextensions"]),
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
    "fake-apiserver-apiextensions",
    "fake-apiserver-cel",
    "fake-apiserver-full",
    "fake-apiserver-webhooks",
    "fake-csi",
    "harness",
    "labs",
    "mutants",
    "real-server",
    "references",
    "suites",
    "xtask",
];

/// The workspace according to cargo.
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

/// Dependencies within this workspace, by crate. `with_tests`: including dev-dependencies.
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
fn workspace_members_match_the_design() {
    let names: BTreeSet<String> = packages().iter().map(name).collect();
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), MEMBERS);
}

#[test]
fn a_default_build_excludes_labs_and_mutants() {
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
fn crates_have_only_allowed_dependencies() {
    assert_allowed(edges(false), &[ALLOWED]);
}

#[test]
fn tests_have_only_allowed_dependencies() {
    assert_allowed(edges(true), &[ALLOWED, ALLOWED_IN_TESTS]);
}

#[test]
fn no_crate_has_an_import_cycle() {
    for package in packages() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let src = Path::new(manifest).parent().unwrap().join("src");
        let mut imports = Imports::read(&src);
        // Imports between `mod.rs` and other modules of the same folder are allowed, so they are removed before the search for cycles.
        for (from, targets) in &mut imports.of {
            targets.retain(|to| !from.starts_with(to));
        }
        let circle = imports.find_cycle();
        let circle = circle.map(|files| files.iter().map(format_module).collect::<Vec<_>>().join(" → "));
        assert_eq!(
            circle,
            None,
            "{}: import cycle: each file imports the next one, the last one the first",
            name(&package)
        );
    }
}
