//! Simulated time: the same seed gives the same journal, byte for byte. That every case passes in it is tested with the cases.

use std::sync::Arc;

use suites::harness::journal::Journal;
use suites::harness::plan::Plan;
use suites::harness::system::Systems;
use suites::harness::{Outcome, RunOptions, simulate};
use suites::{cases_folder, plan, plans};

use crate::program::ended;

/// One case in so many is run twice.
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
fn a_seed_decides_everything() {
    let systems = xtask::built_in(None);
    let plans = plans(&cases_folder()).unwrap().into_iter();
    let plans: Vec<Arc<Plan>> = plans.step_by(EACH).map(Arc::new).collect();
    // Two threads, which a machine may run as it likes.
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
fn another_seed_gives_other_names() {
    let systems = xtask::built_in(None);
    let plan = plan(&cases_folder(), "publisher/value/maximum").unwrap().unwrap();
    let plan = Arc::new(plan);
    let [first, second] = [1, 2].map(|seed| bytes(&run(&plan, &systems, seed).journal));
    assert_ne!(first, second);
}

#[test]
fn the_command_says_how_to_run_a_failure_again() {
    let case = "fail/driver/restart/central";
    let (said, _) = ended(
        1,
        &["e2e", "--simulate=7", "--defect=publisher-connects-once", case],
    );
    let again = format!("cargo xtask e2e --defect=publisher-connects-once --simulate=7 {case}");
    assert!(said.contains(&again), "{said}");
}

#[test]
fn a_real_api_server_has_no_part_in_simulated_time() {
    let (_, said) = ended(2, &["e2e", "--simulate", "--apiserver=kubeconfig"]);
    assert!(said.contains("cannot be used with"), "{said}");
}
