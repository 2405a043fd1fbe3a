//! Cases and catalogue fit together: every id that a case names is in the catalogue.

use std::collections::BTreeSet;

use suites::harness::scenario::{coverage, load_tree};
use suites::{Catalogue, cases_folder, pairs, plans};

fn named_by_cases() -> BTreeSet<String> {
    let plans = plans(&cases_folder()).unwrap();
    plans.iter().flat_map(|plan| plan.requirements.clone()).collect()
}

#[test]
fn every_id_of_a_case_is_in_the_catalogue() {
    let catalogue = Catalogue::load();
    for id in named_by_cases() {
        assert!(catalogue.get(&id).is_some(), "{id} is not in requirements.yaml");
    }
}

#[test]
fn every_case_shows_a_requirement() {
    for plan in plans(&cases_folder()).unwrap() {
        assert!(
            !plan.requirements.is_empty(),
            "{} shows no requirement",
            plan.id()
        );
    }
}

#[test]
fn every_pair_of_values_of_axes_occurs() {
    let plans = plans(&cases_folder()).unwrap();
    let ids: Vec<&str> = plans.iter().map(|plan| plan.id()).collect();
    let files = coverage(&cases_folder(), &ids).unwrap();
    assert!(!files.is_empty());
    for (file, pairs) in files {
        for pair in pairs {
            assert_eq!(pair.missing, [], "{file}: {} x {}", pair.first, pair.second);
            assert!(pair.possible > 0, "{file}: {} x {}", pair.first, pair.second);
        }
    }
}

#[test]
fn every_two_values_that_make_sense_together_occur_in_some_case() {
    let scenarios = load_tree(&cases_folder()).unwrap();
    let all = pairs(&scenarios).unwrap();
    assert!(!all.is_empty());
    for pair in all {
        assert_eq!(pair.missing, [], "{} x {}", pair.first, pair.second);
        assert!(pair.possible > 0, "{} x {}", pair.first, pair.second);
    }
    // They are counted, not taken for granted.
    let few = pairs(
        scenarios
            .iter()
            .filter(|it| it.id.starts_with("scheduler/filter")),
    )
    .unwrap();
    assert!(few.iter().any(|pair| !pair.missing.is_empty()));
}

#[test]
fn the_readme_counts_as_the_cases_do() {
    let readme = include_str!("../../../README.md");
    let plans = plans(&cases_folder()).unwrap();
    let mut areas = std::collections::BTreeMap::new();
    for plan in &plans {
        *areas.entry(plan.area()).or_insert(0) += 1;
    }
    let claims = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["pass", area, passed, "of", _] => Some(((*area).to_owned(), passed.parse().unwrap())),
            _ => None,
        }
    };
    let claimed: std::collections::BTreeMap<String, i32> = readme.lines().filter_map(claims).collect();
    assert_eq!(
        claimed, areas,
        "run `cargo xtask e2e` and put its lines into README.md"
    );
    assert!(
        readme.contains(&format!("{} passed, 0 failed", plans.len())),
        "the total in README.md is stale"
    );
}
