//! Simulated time: two runs with the same seed have the same journal, byte for byte. The crate `suites` tests that every case passes in
//! simulated time.

use std::sync::{Arc, Mutex};

use suites::harness::journal::Journal;
use suites::harness::plan::Plan;
use suites::harness::scenario::Role;
use suites::harness::system::Systems;
use suites::harness::{Outcome, RunOptions, simulate};
use suites::{case_files, plan, plans};
use tokio::sync::oneshot;

use crate::program::run_expecting;

/// Only every n-th case is run twice, to save time.
const EACH: usize = 8;

fn run(plan: &Arc<Plan>, systems: &Systems, seed: u64) -> Outcome {
    let options = RunOptions {
        seed: Some(seed),
        ..RunOptions::default()
    };
    simulate(Arc::clone(plan), systems, options).unwrap()
}

fn bytes(journal: &Journal) -> Vec<String> {
    let facts = journal.since(0);
    facts
        .iter()
        .map(|fact| serde_json::to_string(fact).unwrap())
        .collect()
}

#[test]
fn a_seed_determines_the_journal() {
    let systems = references::built_in(None);
    let plans = plans(&case_files()).unwrap().into_iter();
    let plans: Vec<Arc<Plan>> = plans.step_by(EACH).map(Arc::new).collect();
    // The cases run on two threads, which the operating system may schedule in any order.
    let journals = std::thread::scope(|scope| {
        let all = || {
            let runs = plans.iter().map(|plan| run(plan, &systems, 0));
            runs.map(|outcome| bytes(&outcome.journal)).collect::<Vec<_>>()
        };
        [scope.spawn(all), scope.spawn(all)].map(|thread| thread.join().unwrap())
    });
    for (plan, (first, second)) in plans.iter().zip(journals[0].iter().zip(&journals[1])) {
        assert_eq!(first, second, "{}", plan.id());
    }
}

#[test]
fn another_seed_yields_other_names() {
    let systems = references::built_in(None);
    let plan = plan(&case_files(), "publisher/value/maximum").unwrap().unwrap();
    let plan = Arc::new(plan);
    let [first, second] = [1, 2].map(|seed| bytes(&run(&plan, &systems, seed).journal));
    assert_ne!(first, second);
}

#[test]
fn a_failure_prints_the_command_with_its_seed() {
    let case = "fail/driver/restart/central";
    let (messages, _) = run_expecting(
        1,
        &["e2e", "--simulate=7", "--defect=publisher-connects-once", case],
    );
    let again = format!("cargo xtask e2e --defect=publisher-connects-once --simulate=7 {case}");
    assert!(messages.contains(&again), "{messages}");
}

#[test]
fn simulate_and_apiserver_are_mutually_exclusive() {
    let (_, messages) = run_expecting(2, &["e2e", "--simulate", "--apiserver=kubeconfig"]);
    assert!(messages.contains("cannot be used with"), "{messages}");
}

/// A case that never becomes idle: no node has enough storage for the claim with immediate binding, and without GetCapacity no publisher
/// can know that, so the publishers retry forever.
const WITHOUT_END: &str = "
id: story/without-end
title: publishers pass on a claim that none of them can make a volume for
requirements: [PUB-01]
cluster:
  mode: distributed
  driver: {getCapacity: false}
  nodes: [n1, n2, n3]
  classes: [{name: fast, binding: Immediate}]
  backend: {n1: 1Gi, n2: 1Gi, n3: 1Gi}
steps:
  - id: asked
    do: [{claim: {name: c, class: fast, size: 10Gi}}]
    expect: specification
";

#[test]
fn programs_that_never_become_idle_still_get_a_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("without-end.yaml");
    std::fs::write(&file, WITHOUT_END).unwrap();
    run_expecting(0, &["repro", "--simulate=1", &file.display().to_string()]);
}

#[tokio::test]
async fn a_dropped_simulation_leaves_no_task_behind() {
    let ((begin, begun), (end, ended)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
    let printed = Mutex::new(Some((begin, end)));
    let mut systems = references::built_in(None);
    let publisher = systems.by_role.get_mut(&Role::Publisher).unwrap();
    publisher.run = Arc::new(move |_, _| {
        let printed = printed.lock().unwrap().take();
        Box::pin(async move {
            let (begin, _end) = printed.expect("one publisher is started");
            begin.send(()).unwrap();
            // The loop never waits. The simulated clock advances only while all tasks wait, so the clock stands still.
            loop {
                tokio::task::yield_now().await;
            }
        })
    });
    let plan = plan(&case_files(), "publisher/value/maximum").unwrap().unwrap();
    let options = RunOptions {
        seed: Some(0),
        ..RunOptions::default()
    };
    tokio::select! {
        _ = suites::harness::run(Arc::new(plan), &systems, options) => panic!("the run ended, although its publisher never ends"),
        begun = begun => begun.unwrap(),
    }
    assert!(ended.await.is_err(), "the publisher and its sender are dropped");
}
