//! Checks whether evidence in the requirement catalogue exists: looks up tests in the sources, and runs studies at their small size.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use suites::{Evidence, TestName};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

/// Looks up evidence for requirements. Runs each study only once.
#[derive(Default)]
pub(crate) struct Search {
    studies: BTreeMap<String, BTreeSet<&'static str>>,
}

impl Search {
    /// Returns an error message if the evidence for the requirement does not exist.
    pub(crate) fn problem(&mut self, id: &str, evidence: &Evidence) -> Option<String> {
        let is_there = match evidence {
            Evidence::Test(test) => is_test(test),
            Evidence::Contract(name) => is_recorded_exchange(name),
            Evidence::Bench(name) => labs::bench::is_measurement(name),
            Evidence::Study(name) => self.statements(name).contains(id),
        };
        (!is_there).then(|| format!("there is no {} {evidence}", evidence.kind()))
    }

    /// Ids of the requirements for which a study has findings; empty if there is no such study.
    pub(crate) fn statements(&mut self, study: &str) -> &BTreeSet<&'static str> {
        let made = || labs::study::statements(study).unwrap_or_default();
        self.studies.entry(study.to_owned()).or_insert_with(made)
    }
}

fn is_test(test: &TestName) -> bool {
    let text = std::fs::read_to_string(root().join(&test.file));
    text.is_ok_and(|text| runs_test(&text, &test.function))
}

/// Whether a source text contains a test function with this name that is not ignored.
fn runs_test(text: &str, function: &str) -> bool {
    let mut attributes: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("#[") {
            attributes.push(line);
            continue;
        }
        let declared = line.trim_start_matches("async ").strip_prefix("fn ");
        if declared.and_then(|rest| rest.split('(').next()) == Some(function) {
            let has = |names: &[&str]| {
                let name = |line: &&&str| line[2..].split(['(', ']', ' ']).next().map(str::to_owned);
                attributes
                    .iter()
                    .any(|line| name(&line).is_some_and(|name| names.contains(&name.as_str())))
            };
            return has(&["test", "tokio::test"]) && !has(&["ignore"]);
        }
        // Between an attribute and its function, only comments are allowed; any other line is the end of the attributes.
        if !line.starts_with("//") {
            attributes.clear();
        }
    }
    false
}

/// Whether the contract tests of the fake API server contain a recorded exchange called `area/name`, with `-` for spaces.
fn is_recorded_exchange(name: &str) -> bool {
    let Some((area, name)) = name.split_once('/') else {
        return false;
    };
    let file = root().join(format!("fake-apiserver/full/tests/contract/{area}.yaml"));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut names = text.lines().filter_map(|line| line.strip_prefix("- name: "));
    names.any(|known| known.replace(' ', "-") == name)
}

#[test]
fn missing_evidence_is_detected() {
    let text = "
#[test]
fn plain() {}
#[tokio::test(flavor = \"multi_thread\")]
// Why.
async fn slow() {}
#[test]
#[ignore = \"by hand\"]
fn asked_for() {}
fn helper() {}
";
    for (function, runs) in [
        ("plain", true),
        ("slow", true),
        ("asked_for", false),
        ("helper", false),
        ("gone", false),
    ] {
        assert_eq!(runs_test(text, function), runs, "{function}");
    }
    let none = TestName {
        file: "suites/tests/integration/nowhere.rs".to_owned(),
        function: "plain".to_owned(),
    };
    for evidence in [
        Evidence::Test(none),
        Evidence::Contract("storage/nothing".to_owned()),
        Evidence::Contract("nowhere/capacities".to_owned()),
        Evidence::Bench("patience".to_owned()),
        Evidence::Study("patience".to_owned()),
        Evidence::Study("designs".to_owned()),
    ] {
        // The study exists, but has no finding for this requirement.
        assert!(
            Search::default().problem("CSI-01", &evidence).is_some(),
            "{evidence}"
        );
    }
}
