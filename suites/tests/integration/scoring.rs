//! Scoring changes the order of nodes and nothing else: every case of the filter comes out the same with it.

use std::sync::Arc;

use suites::harness::plan::Plan;
use suites::harness::scenario::SchedulerSpec;
use suites::harness::{RunOptions, run};
use suites::{case_files, plans};
use tokio::sync::Semaphore;

/// Cases at the same time: they mostly wait.
const TOGETHER: usize = 8;

/// Cases whose verdicts are about filtering, with the gate switched over.
fn with_scoring() -> Vec<Plan> {
    let areas = ["scheduler/filter", "scheduler/claims", "scheduler/wake"];
    let all = plans(&case_files()).unwrap();
    let of_filter = all
        .into_iter()
        .filter(|plan| areas.contains(&plan.area().as_str()));
    // A release of its own has its own gates.
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

/// KEP-4049 wants tests with the gate on and off; the cases themselves run with it off.
#[tokio::test(flavor = "multi_thread")]
async fn what_fits_is_the_same_with_scoring() {
    let plans = with_scoring();
    assert!(plans.len() >= 50, "only {} cases", plans.len());
    let slots = Arc::new(Semaphore::new(TOGETHER));
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
