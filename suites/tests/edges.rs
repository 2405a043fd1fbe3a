//! The edges between our crates, as the architecture allows them. Read from `cargo metadata`, so that no manifest can disagree.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// Crate → what it may use of ours. What is not listed uses nothing of ours.
const ALLOWED: &[(&str, &[&str])] = &[
    ("fake-csi", &["csi-proto"]),
    ("capacity-publisher", &["csi-proto"]),
    ("harness", &["fake-apiserver", "fake-csi"]),
    // The references, compiled anew with mistakes, and the command line that runs them.
    ("mutants", &["csi-proto", "suites", "xtask"]),
    ("suites", &["harness"]),
    ("xtask", &["capacity-publisher", "capacity-scheduler", "suites"]),
];

/// Tests may use more: the suites are tested with the references, which `xtask` registers, with their pure parts, and with the publisher
/// alone between the fakes.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[(
    "suites",
    &[
        "xtask",
        "capacity-publisher",
        "capacity-scheduler",
        "csi-proto",
        "fake-apiserver",
        "fake-csi",
    ],
)];

const MEMBERS: &[&str] = &[
    "capacity-publisher",
    "capacity-scheduler",
    "csi-proto",
    "fake-apiserver",
    "fake-csi",
    "harness",
    "mutants",
    "suites",
    "xtask",
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .unwrap()
}

/// Crate → crates of ours that it depends on, of the kinds asked for.
fn edges(is_meant: impl Fn(DependencyKind) -> bool) -> BTreeMap<String, BTreeSet<String>> {
    let packages = metadata().packages;
    let ours: BTreeSet<String> = packages.iter().map(|package| package.name.to_string()).collect();
    let of_package = |package: &cargo_metadata::Package| {
        let used = package
            .dependencies
            .iter()
            .filter(|it| is_meant(it.kind) && ours.contains(&it.name));
        (
            package.name.to_string(),
            used.map(|dependency| dependency.name.clone()).collect(),
        )
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
    let names: BTreeSet<String> = metadata()
        .packages
        .iter()
        .map(|package| package.name.to_string())
        .collect();
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), MEMBERS);
}

#[test]
fn crates_use_only_what_they_may() {
    let is_shipped = |kind| kind != DependencyKind::Development;
    assert_allowed(edges(is_shipped), &[ALLOWED]);
}

#[test]
fn tests_use_only_what_they_may() {
    assert_allowed(edges(|_| true), &[ALLOWED, ALLOWED_IN_TESTS]);
}
