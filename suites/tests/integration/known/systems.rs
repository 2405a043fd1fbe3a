//! Programs with manipulated traffic, and manifests with entries for their failures. The tests of the crate `labs` compile this file too.

use suites::harness::RunOptions;
use suites::harness::interposer::{WireRule, interpose};
use suites::harness::manifest::Manifest;
use suites::harness::scenario::Role;
use suites::harness::system::Systems;

/// Options of a reproducible run in simulated time.
pub(crate) fn simulated() -> RunOptions {
    RunOptions {
        seed: Some(0),
        ..RunOptions::default()
    }
}

/// The reference programs, with these rules applied to the publisher's traffic.
pub(crate) fn with_wire_rules(wire: &[WireRule]) -> Systems {
    let mut systems = references::built_in(None);
    let publisher = Role::Publisher;
    let system = interpose(&systems.by_role[&publisher], wire);
    systems.by_role.insert(publisher, system);
    systems
}

/// A manifest of a publisher that claims these features, with a known-failure entry for each case and pattern.
pub(crate) fn manifest(features: &str, entries: &[(&str, &str)]) -> Manifest {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sut.yaml");
    let list = if entries.is_empty() {
        ""
    } else {
        "knownFailures:\n"
    };
    let entries: String = entries
        .iter()
        .map(|(case, fails)| {
            format!("  - {{case: {case}, fails: '{fails}', why: so it is, issue: i/1, until: 2999-12-31}}\n")
        })
        .collect();
    let text = format!(
        "name: mine\nversion: v1\nfeatures: [{features}]\nroles: {{publisher: {{argv: [sh]}}}}\n{list}{entries}"
    );
    std::fs::write(&path, text).unwrap();
    Manifest::load(&path).unwrap()
}
