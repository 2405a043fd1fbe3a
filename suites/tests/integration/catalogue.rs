//! Consistency of the cases and the requirement catalogue. Every requirement that a case names is in the catalogue. Every catalogue entry
//! has a case or other existing evidence, or a reason for having none, or is in `MISSING`.

use std::collections::BTreeSet;

use labs::pairs;
use suites::harness::renamed::{Context, RENAMED, current_case_id};
use suites::harness::scenario::{coverage, load_tree};
use suites::{Catalogue, Defects, EvidenceStatus, Traceability, case_files, plans};

use crate::evidence::Search;

/// Requirements without evidence. The list must not grow.
const MISSING: &[&str] = &[];

#[test]
fn every_id_of_a_case_is_in_the_catalogue() {
    let catalogue = Catalogue::load();
    for plan in plans(&case_files()).unwrap() {
        for id in &plan.requirements {
            assert!(catalogue.entry(id).is_some(), "{id} is not in requirements.yaml");
        }
    }
}

#[test]
fn renamed_cases_and_defects_exist() {
    let plans = plans(&case_files()).unwrap();
    let defects = Defects::load();
    let is_case = |id: &str| {
        let mut ids = plans.iter().map(|plan| format!("{}/", plan.id()));
        ids.any(|case| case.starts_with(&format!("{id}/")))
    };
    for &(context, old, new) in RENAMED.iter() {
        let exists = match context {
            Context::Case => is_case(new) && !is_case(old),
            Context::Defect => defects.get(new).is_some() && defects.get(old).is_none(),
            _ => true,
        };
        assert!(exists, "{old} is listed as renamed to {new}");
    }
    for plan in &plans {
        assert_eq!(current_case_id(plan.id()), plan.id());
    }
}

#[test]
fn exactly_the_listed_requirements_lack_evidence() {
    let plans = plans(&case_files()).unwrap();
    let traceability = Traceability::new(&plans);
    let missing: Vec<&str> = Catalogue::load()
        .ids()
        .filter(|id| traceability.status(id) == EvidenceStatus::Missing)
        .collect();
    let known = BTreeSet::from_iter(MISSING);
    let new: Vec<_> = missing.iter().filter(|id| !known.contains(id)).collect();
    assert!(
        new.is_empty(),
        "{new:?} have no evidence any more: name them in a case, or add evidence"
    );
    let shown: Vec<_> = MISSING.iter().filter(|id| !missing.contains(id)).collect();
    assert!(
        shown.is_empty(),
        "{shown:?} have evidence now: remove them from MISSING"
    );
}

#[test]
fn a_requirement_has_either_evidence_or_a_reason() {
    let plans = plans(&case_files()).unwrap();
    let traceability = Traceability::new(&plans);
    let catalogue = Catalogue::load();
    for (id, entry) in catalogue.ids().filter_map(|id| Some((id, catalogue.entry(id)?))) {
        let is_shown = traceability.status(id) == EvidenceStatus::Verified;
        assert!(
            entry.reason.is_none() || !is_shown,
            "{id} has both a reason and evidence"
        );
    }
}

#[test]
fn all_evidence_exists_and_is_listed_once() {
    let catalogue = Catalogue::load();
    let entries = catalogue.ids().filter_map(|id| Some((id, catalogue.entry(id)?)));
    let (mut problems, mut search) = (Vec::new(), Search::default());
    for (id, entry) in entries {
        for (place, evidence) in entry.shown_by.iter().enumerate() {
            problems.extend(
                search
                    .problem(id, evidence)
                    .map(|problem| format!("{id}: {problem}")),
            );
            if entry.shown_by[..place].contains(evidence) {
                problems.push(format!("{id}: {evidence} is named twice"));
            }
        }
    }
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn every_requirement_has_a_section_and_every_section_a_requirement() {
    let catalogue = Catalogue::load();
    let mut found = BTreeSet::new();
    for document in catalogue.documents() {
        for section in &document.sections {
            let ids: Vec<&str> = catalogue
                .of_section(document, section)
                .map(|(id, _)| id)
                .collect();
            assert!(!ids.is_empty(), "{}, {section} has no requirement", document.name);
            found.extend(ids);
        }
    }
    let lost: Vec<&str> = catalogue.ids().filter(|id| !found.contains(id)).collect();
    assert_eq!(lost, Vec::<&str>::new(), "documents.yaml has no such section");
}

#[test]
fn every_case_verifies_a_requirement() {
    for plan in plans(&case_files()).unwrap() {
        assert!(
            !plan.requirements.is_empty(),
            "{} names no requirement",
            plan.id()
        );
    }
}

#[test]
fn every_pair_of_axis_values_is_covered() {
    let plans = plans(&case_files()).unwrap();
    let ids: Vec<&str> = plans.iter().map(|plan| plan.id()).collect();
    let files = coverage(&case_files(), &ids).unwrap();
    assert!(!files.is_empty());
    for (file, pairs) in files {
        for pair in pairs {
            assert_eq!(pair.missing, [], "{file}: {} x {}", pair.first, pair.second);
            assert!(pair.possible > 0, "{file}: {} x {}", pair.first, pair.second);
        }
    }
}

#[test]
fn every_possible_pair_of_values_occurs_in_a_case() {
    let scenarios = load_tree(&case_files()).unwrap();
    let all = pairs(&scenarios).unwrap();
    assert!(!all.is_empty());
    for pair in all {
        assert_eq!(pair.missing, [], "{} x {}", pair.first, pair.second);
        assert!(pair.possible > 0, "{} x {}", pair.first, pair.second);
    }
    // The cases of one area cover only some pairs of axis values.
    let few = pairs(
        scenarios
            .iter()
            .filter(|it| it.id.starts_with("scheduler/filter")),
    )
    .unwrap();
    assert!(few.iter().any(|pair| !pair.missing.is_empty()));
}
