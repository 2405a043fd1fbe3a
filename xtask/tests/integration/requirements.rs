//! `list --requirements` and `--requirement`: requirements and their evidence.

use std::collections::BTreeSet;

use suites::Catalogue;

use crate::program::run_expecting;

#[test]
fn the_table_lists_every_requirement_once_and_its_counts_add_up() {
    let (out, _) = run_expecting(0, &["list", "--requirements"]);
    let (mut document, mut section) = ("", "");
    let mut found = BTreeSet::new();
    for line in out.lines() {
        let depth = line.len() - line.trim_start().len();
        let first = line.split_whitespace().next().unwrap_or_default();
        match depth {
            0 => document = line.split(": ").next().unwrap(),
            2 => section = line.trim(),
            4 => {
                let entry = Catalogue::load().entry(first).unwrap();
                assert_eq!(entry.source.to_string(), format!("{document}, {section}"));
                assert!(line.ends_with(&entry.text), "{line}");
                assert!(found.insert(first), "{first} is listed twice");
            }
            _ => {}
        }
    }
    let total = out.lines().last().unwrap();
    let numbers: Vec<usize> = total.split(' ').filter_map(|word| word.parse().ok()).collect();
    let &[shown, all, reason, missing] = numbers.as_slice() else {
        panic!("{total}");
    };
    assert_eq!((found.len(), shown + reason + missing), (all, all), "{total}");
    let not_shown = out.lines().filter(|line| line.contains(" not shown ")).count();
    assert_eq!(not_shown, missing, "{total}");
}

#[test]
fn one_requirement_is_shown_with_all_its_evidence() {
    let (out, _) = run_expecting(0, &["list", "--requirement", "PUB-36"]);
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].starts_with("PUB-36  ") && lines[0].contains("external-provisioner 2.0.0"),
        "{out}"
    );
    assert!(
        lines[1].trim().starts_with("“In external-provisioner 2.0.0"),
        "{out}"
    );
    assert_eq!(lines[2].trim(), "KEP-1472, CSIStorageCapacity lifecycle");
    assert!(lines[4].starts_with("publisher/objects/by-owner  "), "{out}");
    for (id, words) in [
        (
            "MET-10",
            "test      fake-apiserver/tests/integration/wire/health.rs::",
        ),
        (
            "API-08",
            "contract  cargo test -p fake-apiserver-full --test contract storage/CSIStorageCapacities",
        ),
        ("SCALE-22", "bench     cargo xtask bench scheduler"),
        ("GATE-35", "Not testable with a program: "),
    ] {
        let (out, _) = run_expecting(0, &["list", "--requirement", id]);
        assert!(out.starts_with(id) && out.contains(words), "{out}");
    }
}

#[test]
fn an_unknown_requirement_exits_with_2_and_lists_the_valid_range() {
    let (_, error) = run_expecting(2, &["list", "--requirement", "PUB-999"]);
    assert!(error.contains("go from PUB-01 to PUB-"), "{error}");
}

#[test]
fn a_requirement_without_cases_cannot_be_run_and_its_evidence_is_named() {
    let (_, error) = run_expecting(4, &["e2e", "--requirement", "SCALE-22"]);
    let words =
        "no case verifies SCALE-22; `cargo xtask list --requirement SCALE-22` shows its other evidence";
    assert!(error.contains(words), "{error}");
}
