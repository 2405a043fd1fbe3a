//! Scoring changes only the order of nodes: every filter case has the same result with scoring.

use std::sync::Arc;

use suites::harness::plan::Plan;
use suites::harness::scenario::SchedulerSpec;
use suites::harness::{RunOptions, run};
use suites::{case_files, plans};
use tokio::sync::Semaphore;

/// Number of concurrent cases; may exceed the cores, because cases mostly wait.
const CONCURRENCY: usize = 8;

fn filter_cases_with_scoring() -> Vec<Plan> {
    let areas = ["scheduler/filter", "scheduler/claims", "scheduler/requeue"];
    let all = plans(&case_files()).unwrap();
    let of_filter = all
        .into_iter()
        .filter(|plan| areas.contains(&plan.area().as_str()));
    // Leaves out cases that set the scoring gate, or the release of the scheduler, which determines its feature gates.
    let is_usual = |plan: &Plan| plan.scheduler.release.is_none() && plan.scheduler.scoring.is_none();
    let turned = |mut plan: Plan| {
        plan.scheduler = SchedulerSpec {
            scoring: Some(true),
            ..plan.scheduler.clone()
        };
        plan
    };
    of_filter.filter(is_usual).map(turned).collect()
}

/// KEP-4049 requires tests with the feature gate on and off. Elsewhere, the filter cases run with the gate off.
#[tokio::test(flavor = "multi_thread")]
async fn feasible_nodes_are_the_same_with_scoring() {
    let plans = filter_cases_with_scoring();
    assert!(plans.len() >= 50, "only {} cases", plans.len());
    let slots = Arc::new(Semaphore::new(CONCURRENCY));
    let runs = plans.into_iter().map(|plan| {
        let slots = slots.clone();
        tokio::spawn(async move {
            let _slot = slots.acquire().await.unwrap();
            let plan = Arc::new(plan);
            let outcome = run(plan.clone(), &references::built_in(None), RunOptions::default())
                .await
                .unwrap();
            let failure = outcome.verdict.failure();
            failure.map(|failure| format!("{}: {}", plan.id(), failure.summary))
        })
    });
    for run in runs.collect::<Vec<_>>() {
        assert_eq!(run.await.unwrap(), None);
    }
}
