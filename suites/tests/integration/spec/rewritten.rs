//! Replaces the expectations of cases by the specification. References that pass a case must also pass this variant of the case,
//! most defects must violate the specification, and each demand of the specification must be expressible as a case that the run passes.

use std::sync::Arc;

use futures::StreamExt;
use serde_json::{Value, json};
use suites::harness::expectation::ExpectSpecs;
use suites::harness::interposer::WireRule;
use suites::harness::journal::Fact;
use suites::harness::judge::{Verdict, verdict};
use suites::harness::oracle::required_states;
use suites::harness::plan::{Plan, resolve};
use suites::harness::scenario::{Scenario, load_tree, parse};
use suites::harness::{RunOptions, run};
use suites::{Defects, case_files};

/// Cases, or prefixes of case ids, that cover each deployment mode, prior state and kind of change.
const CASES: [&str; 16] = [
    "cleaner/orphans/vanished",
    "fail/publisher/killed/create-after",
    "fail/publisher/killed/distributed-delete-after",
    "gate/publisher/versions",
    "gate/scheduler/cached",
    "publisher/objects/third-parties",
    "publisher/prior/manual",
    "publisher/topology/long-node-name",
    "publisher/topology/new-node-gains-object",
    "publisher/value/zero",
    "scheduler/filter/limit",
    "scheduler/requeue/capacity",
    "scheduler/score/policy",
    "story/volumes/any-choice",
    "story/volumes/freed",
    "story/volumes/shrunk",
];

/// Number of concurrent runs; may exceed the cores, because runs mostly wait.
const CONCURRENCY: usize = 16;

/// Minimum percentage of traffic defects that violate the specification in a case that must detect them. The others affect volumes or
/// call rates, which the specification does not restrict, or make an allowed choice.
const CAUGHT_PERCENT_MIN: usize = 60;

/// Returns the named cases, with the specification as the expectation of each step. Leaves out cases with steps that it does not model.
fn rewritten_cases(scenarios: &[Scenario], names: &[&str]) -> Vec<Arc<Plan>> {
    let comparable = scenarios
        .iter()
        .filter(|scenario| names.iter().any(|name| scenario.id.starts_with(name)));
    let plans = comparable.filter_map(|scenario| resolve(&expecting_specification(scenario.clone())).ok());
    plans.map(Arc::new).collect()
}

fn expecting_specification(mut scenario: Scenario) -> Scenario {
    for step in &mut scenario.file.steps {
        step.value.expect = ExpectSpecs::Specification;
    }
    scenario
}

async fn run_case(plan: Arc<Plan>, defect: Option<&str>) -> (Verdict, Vec<Fact>) {
    let defect = defect.map(|name| references::Defect::named(name).unwrap());
    let systems = references::built_in(defect);
    // A run in simulated time, so that load on the host has no effect.
    let options = RunOptions {
        seed: Some(1),
        ..RunOptions::default()
    };
    let outcome = run(plan, &systems, options).await.unwrap();
    (outcome.verdict, outcome.journal.since(0))
}

#[tokio::test(flavor = "multi_thread")]
async fn references_that_pass_a_case_conform_to_the_specification_in_it() {
    let plans = rewritten_cases(&load_tree(&case_files()).unwrap(), &CASES);
    for name in CASES {
        assert!(
            plans.iter().any(|plan| plan.id().starts_with(name)),
            "no case {name}"
        );
    }
    let judged = plans.into_iter().map(async |plan| {
        let (judged, facts) = run_case(plan.clone(), None).await;
        if let Verdict::Fail(failure) = &judged {
            panic!("{} step {}: {}", plan.id(), failure.step, failure.summary);
        }
        // Evaluating the journal without the run must give the same verdict.
        let again = verdict(&plan, facts);
        assert_eq!(
            again.failure().is_none(),
            judged.failure().is_none(),
            "{}",
            plan.id()
        );
    });
    futures::stream::iter(judged)
        .buffer_unordered(CONCURRENCY)
        .collect::<()>()
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn most_defects_violate_the_specification() {
    let scenarios = load_tree(&case_files()).unwrap();
    let defects = Defects::load();
    // Defects that change only metrics do not count, because the specification does not cover metrics.
    let is_in_traffic = |rule: &WireRule| !matches!(rule, WireRule::Metrics(_));
    let wire = defects
        .iter()
        .filter(|defect| defect.wire.iter().any(is_in_traffic));
    let tried = wire.map(async |defect| {
        let claims: Vec<&str> = defect.claims.keys().map(String::as_str).collect();
        let mut plans = rewritten_cases(&scenarios, &claims);
        plans.retain(|plan| claims.contains(&plan.id()));
        let is_known = !plans.is_empty();
        for plan in plans {
            if let (Verdict::Fail(_), _) = run_case(plan, Some(&defect.name)).await {
                return (defect.name.clone(), is_known, true);
            }
        }
        (defect.name.clone(), is_known, false)
    });
    let tried: Vec<_> = futures::stream::iter(tried)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    let known = tried.iter().filter(|(_, is_known, _)| *is_known);
    let missed: Vec<&String> = known.clone().filter(|it| !it.2).map(|it| &it.0).collect();
    let known = known.count();
    let caught = known - missed.len();
    println!("{caught} of {known} are caught; not {missed:?}");
    assert!(
        caught * 100 >= known * CAUGHT_PERCENT_MIN,
        "{caught} of {known}; not {missed:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn demands_can_be_written_as_a_case() {
    let names = [
        "publisher/topology/new-node-gains-object/central",
        "story/volumes/freed",
        "publisher/value/zero",
    ];
    let scenarios = load_tree(&case_files()).unwrap().into_iter();
    for scenario in scenarios.filter(|it| names.iter().any(|name| it.id.starts_with(name))) {
        let mut file: Value = serde_saphyr::from_str(&scenario.text).unwrap();
        let plan = Arc::new(resolve(&expecting_specification(scenario)).unwrap());
        let (_, facts) = run_case(plan.clone(), None).await;
        let demanded = required_states(&plan, facts.iter().cloned());
        assert_eq!(demanded.len(), plan.steps.len());
        for (step, demands) in file["steps"].as_array_mut().unwrap().iter_mut().zip(&demanded) {
            step["expect"] = demands.expectations();
        }
        let written = parse("written.yaml", &file.to_string()).unwrap();
        let explicit = resolve(&written[0]).unwrap();
        let judged = verdict(&explicit, facts);
        assert!(
            judged.failure().is_none(),
            "{file}: {:?}",
            judged.failure().map(|it| &it.summary)
        );
        assert_ne!(file["steps"][0]["expect"], json!([]));
    }
}
