//! Each defect makes every case that `defects.yaml` lists under its `claims` fail with the expected first missing link of the causal chain.
//! The catalogue contains exactly the defects that can be injected, and only existing cases.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt;
use labs::selftest::{Observed, Pairing, Selftest, SelftestReport, Trial, TrialResult};
use mutants::MUTANTS;
use suites::harness::judge::{Finding, findings, verdict};
use suites::harness::manifest::FailurePattern;
use suites::harness::{RunOptions, run};
use suites::{Catalogue, Defect, Defects, case_files, plan, plans};

/// Number of concurrent simulated clusters. Most clusters wait for a timeout; a higher number would delay all of them.
const AT_ONCE: usize = 32;

/// An entry of `claims` in `defects.yaml`: a defect, a case that must detect it, and a pattern for the first missing link of the causal
/// chain in the failure.
struct Claim {
    defect: String,
    case: String,
    words: FailurePattern,
}

/// Registers the mutants, as `cargo xtask selftest` does.
fn register_mutants() {
    references::register(MUTANTS);
}

/// Fails unless the case detects the defect with a first missing link that matches the pattern of the claim. Runs in
/// simulated time, so that load on the host has no effect.
async fn assert_detected(claim: &Claim) {
    let Claim { defect, case, words } = claim;
    let defect = references::Defect::named(defect).unwrap();
    let plan = plan(&case_files(), case).unwrap();
    let plan = Arc::new(plan.unwrap_or_else(|| panic!("no case {case}")));
    let systems = references::built_in(Some(defect));
    let options = defect.apply_to(RunOptions {
        seed: Some(0),
        ..RunOptions::default()
    });
    let outcome = run(plan.clone(), &systems, options).await.unwrap();
    let again = verdict(&plan, outcome.journal.since(0));
    let Some(failure) = outcome.verdict.failure() else {
        let found = findings(&plan, &outcome.journal.since(0));
        let named = |it: &Finding| words.matches(&format!("finding/{}: {}", it.rule, it.text));
        assert!(found.iter().any(named), "{defect} is not detected by {case}");
        return;
    };
    let text = match failure.chain.first_missing() {
        Some(link) => format!("{}: {}", link.text, link.note),
        None => failure.summary.clone(),
    };
    assert!(
        words.matches(&text),
        "{defect}: first missing link is “{text}”, not “{words}”"
    );
    // Evaluating the stored journal a second time gives the same verdict.
    let Some(again) = again.failure() else {
        panic!("the verdict from the journal is a pass")
    };
    assert_eq!(
        (again.step, again.expect, &again.summary),
        (failure.step, failure.expect, &failure.summary)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_defect_is_caught_with_its_link() {
    register_mutants();
    let defects = Defects::load();
    let claims = defects.iter().flat_map(|defect| {
        let claims = defect.claims.clone().into_iter();
        claims.map(|(case, words)| Claim {
            defect: defect.name.clone(),
            case,
            words,
        })
    });
    let mut checks = futures::stream::iter(claims)
        .map(|claim| tokio::spawn(async move { assert_detected(&claim).await }))
        .buffer_unordered(AT_ONCE);
    while let Some(held) = checks.next().await {
        held.unwrap();
    }
}

#[test]
fn the_catalogue_lists_every_defect_and_every_mutant_exactly_once() {
    let catalogue = Defects::load();
    let named: BTreeSet<&str> = catalogue.iter().map(|defect| defect.name.as_str()).collect();
    assert_eq!(named.len(), catalogue.iter().count(), "a defect is listed twice");
    let mutants: BTreeSet<&str> = named
        .iter()
        .copied()
        .filter(|name| matches!(references::Defect::named(name), Ok(references::Defect::Mutant(_))))
        .collect();
    assert_eq!(mutants, mutants::NAMES.iter().copied().collect());
    for defect in suites::harness::Defect::all() {
        assert!(named.contains(&*defect.to_string()), "{defect}");
    }
}

#[test]
fn every_defect_has_a_text_a_claim_and_a_violated_requirement() {
    let requirements = Catalogue::load();
    for Defect {
        name,
        text,
        violates,
        claims,
        ..
    } in Defects::load().iter()
    {
        assert!(!text.is_empty() && !text.ends_with('.'), "{name}: {text}");
        assert!(!claims.is_empty(), "no case claims to detect {name}");
        assert!(!violates.is_empty(), "{name} violates no requirement");
        for id in violates {
            assert!(
                requirements.get(id).is_some(),
                "{name}: {id} is not in requirements.yaml"
            );
        }
    }
}

#[test]
fn every_case_is_listed_for_a_defect_and_every_listed_case_exists() {
    let plans = plans(&case_files()).unwrap();
    let defects = Defects::load();
    let mut idle: Vec<&str> = plans.iter().map(|plan| plan.id()).collect();
    idle.retain(|case| !defects.iter().any(|defect| defect.lists_case(case)));
    assert!(
        idle.is_empty(),
        "listed for no defect; `cargo xtask selftest --full CASE` may find one: {idle:#?}"
    );
    for defect in defects.iter() {
        for case in defect.claims.keys().chain(&defect.cases) {
            let is_listed = |id: &str| id == case || id.starts_with(&format!("{case}/"));
            assert!(
                plans.iter().any(|plan| is_listed(plan.id())),
                "{}: no case {case}",
                defect.name
            );
        }
    }
}

/// The self-test report for two cases and one defect. `claims`: cases that must detect the defect, with patterns; `named`: further cases
/// that the defect lists; `healthy`: a defect that is also active in the runs without a defect.
async fn report(
    claims: &[(&str, &str)],
    named: &[&str],
    healthy: Option<references::Defect>,
) -> SelftestReport {
    report_of(Pairing::Named, claims, named, healthy).await
}

async fn report_of(
    pairing: Pairing,
    claims: &[(&str, &str)],
    named: &[&str],
    healthy: Option<references::Defect>,
) -> SelftestReport {
    register_mutants();
    const CASES: [&str; 2] = [
        "scheduler/filter/limit/exactly",
        "scheduler/claims/kinds/without-volumes",
    ];
    let owned = |(case, words): &(&str, &str)| ((*case).to_owned(), FailurePattern::parse(words).unwrap());
    let defect = Defect {
        name: "scheduler-off-by-one".to_owned(),
        wire: Vec::new(),
        text: "It demands one byte more".to_owned(),
        violates: ["SCHED-10".to_owned()].into(),
        source: None,
        claims: claims.iter().map(owned).collect::<BTreeMap<_, _>>(),
        cases: named.iter().map(|name| (*name).to_owned()).collect(),
    };
    let load = |id: &str| Arc::new(plan(&case_files(), id).unwrap().unwrap());
    let selftest = Arc::new(Selftest {
        defects: vec![defect],
        plans: CASES.map(load).to_vec(),
        is_whole: true,
        sut: None,
        manifest: None,
        pairing,
        shard: None,
        jobs: 8,
        observe: None,
        build: Arc::new(move |name| {
            let defect = name.map_or(healthy, |name| references::Defect::named(name).ok());
            (references::built_in(defect), RunOptions::default())
        }),
    });
    let trials = selftest.run(|_| {}).await;
    SelftestReport::new(&selftest.scope(), &trials, Vec::new())
}

#[tokio::test]
async fn a_requirement_counts_only_if_the_case_detected_a_defect_that_violates_it() {
    let claims = [("scheduler/filter/limit/exactly", "a node is chosen")];
    let report = report_of(Pairing::Full, &claims, &["scheduler/claims/kinds"], None).await;
    let unbroken = |case: &str| {
        let case = report.cases.iter().find(|it| it.id == case).unwrap();
        case.unbroken.clone()
    };
    let exactly = unbroken("scheduler/filter/limit/exactly");
    assert!(!exactly.contains(&"SCHED-10".to_owned()) && exactly.contains(&"SCHED-07".to_owned()));
    // The second case detects no defect, so none of the case's requirements counts as violated.
    let other = unbroken("scheduler/claims/kinds/without-volumes");
    let counted = report.demands.unwrap();
    assert_eq!(counted.broken, 1);
    assert_eq!(counted.named, 1 + exactly.len() + other.len());
    assert_eq!(counted.unbroken_core, exactly.len() + other.len());
    assert_eq!(counted.files.broken, 1);
    assert_eq!(counted.files.unbroken.len(), exactly.len() + other.len());
}

/// The results of running each of these cases with each defect of the catalogue. `observes`: skip the defects whose code a case does not
/// execute.
async fn trials_of(cases: &[&str], observes: bool) -> Vec<Trial> {
    register_mutants();
    let load = |id: &&str| Arc::new(plan(&case_files(), id).unwrap().unwrap());
    let options = RunOptions {
        seed: Some(0),
        ..RunOptions::default()
    };
    let observed = options.clone();
    let observe = move || {
        let (systems, reached) = (MUTANTS.observed)();
        Observed {
            systems,
            options: observed.clone(),
            reached,
        }
    };
    let selftest = Arc::new(Selftest {
        defects: Defects::load().iter().cloned().collect(),
        plans: cases.iter().map(load).collect(),
        is_whole: false,
        sut: None,
        manifest: None,
        pairing: Pairing::Full,
        shard: None,
        jobs: 8,
        observe: observes.then(|| Arc::new(observe) as _),
        build: Arc::new(move |name| {
            let defect = name.and_then(|name| references::Defect::named(name).ok());
            let options = match defect {
                Some(defect) => defect.apply_to(options.clone()),
                None => options.clone(),
            };
            (references::built_in(defect), options)
        }),
    });
    selftest.run(|_| {}).await
}

#[tokio::test(flavor = "multi_thread")]
async fn skipped_runs_would_have_passed() {
    let cases = [
        "publisher/value/maximum",
        "publisher/permissions/documented",
        "scheduler/filter/limit/exactly",
        "story/volumes/exhausted",
    ];
    let (all, some) = (trials_of(&cases, false).await, trials_of(&cases, true).await);
    let mut skipped = 0;
    for (run, seen) in all.iter().zip(&some) {
        assert_eq!((&run.defect, &run.case), (&seen.defect, &seen.case));
        match seen.found {
            TrialResult::Unreached => {
                skipped += 1;
                assert_eq!(
                    run.found,
                    TrialResult::Passed,
                    "{} with {:?}: {}",
                    run.case,
                    run.defect,
                    run.link
                );
            }
            found => assert_eq!(run.found, found, "{} with {:?}", run.case, run.defect),
        }
    }
    assert_eq!(all.len(), some.len());
    assert!(
        all.len() / 3 < skipped && skipped < all.len(),
        "{skipped} of {}",
        all.len()
    );
}

fn texts(report: &SelftestReport) -> Vec<String> {
    let text = |problem: &labs::selftest::Problem| {
        format!("{}: {}", problem.case.clone().unwrap_or_default(), problem.text)
    };
    report.problems.iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_holds_is_no_problem_and_a_case_without_detection_is() {
    let claims = [("scheduler/filter/limit/exactly", "a node is chosen for pod p")];
    let report = report(&claims, &[], None).await;
    assert_eq!(report.defects[0].status(), "caught");
    assert_eq!(report.healthy, 2);
    assert_eq!(
        texts(&report),
        [
            "scheduler/claims/kinds/without-volumes: is listed for no defect: add the case to a defect that it detects in suites/defects.yaml"
        ]
    );
    let explanation = report.defects[0].claims[0].explanation.as_deref().unwrap();
    assert!(
        explanation
            .contains("rerun   cargo xtask e2e --defect=scheduler-off-by-one scheduler/filter/limit/exactly"),
        "{explanation}"
    );
    let read: SelftestReport = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(read, report);
    let page = labs::selftest::html(&report);
    roxmltree::Document::parse(page.trim_start_matches("<!DOCTYPE html>")).unwrap();
    assert!(
        page.contains("1 of 1") && page.contains("a node is chosen for pod p"),
        "{page}"
    );
    assert!(labs::selftest::markdown(&report).contains("1 of 1 defects detected as expected"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missed_defect_and_a_failure_with_another_link_are_problems() {
    let claims = [("scheduler/filter/limit/exactly", "the moon is full")];
    let report = report(&claims, &["scheduler/claims/kinds"], None).await;
    assert_eq!(report.defects[0].status(), "MISLED");
    let texts = texts(&report);
    assert!(
        texts[0].ends_with("is listed for defect scheduler-off-by-one, but passes with it"),
        "{texts:?}"
    );
    assert!(
        texts[1].contains("fails with “a node is chosen for pod p")
            && texts[1].contains("“the moon is full”"),
        "{texts:?}"
    );
    assert_eq!(texts.len(), 2, "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_that_fails_without_a_defect_is_a_problem() {
    let broken = references::Defect::named("scheduler-forgets-plain-pods").unwrap();
    let claims = [("scheduler/filter/limit/exactly", "a node is chosen for pod p")];
    let report = report(&claims, &["scheduler/claims"], Some(broken)).await;
    assert_eq!(report.healthy, 1);
    let texts = texts(&report);
    assert!(
        texts
            .iter()
            .any(|text| text.contains("without-volumes: fails without any defect: a node is chosen")),
        "{texts:?}"
    );
    assert_eq!(report.defects[0].claims[0].found, TrialResult::Failed);
}
