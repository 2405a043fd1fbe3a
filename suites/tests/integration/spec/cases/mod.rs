//! Compares every explicit expectation on capacities and placement in the cases with the specification's result.
//!
//! Each case is simulated on the cluster state of the specification: actions change the state, and correct programs react between the
//! steps. Expectations that the state cannot decide are skipped, each with a [`SkipReason`]; the number of skipped expectations is limited.

mod actions;
mod cluster;
mod compare;
mod plugin;
mod skip_reason;
mod volumes;
mod walk;

use std::collections::BTreeMap;

use capacity_spec::Unspecified;
use suites::{case_files, plans};

use compare::Compared;
use skip_reason::SkipReason;
use walk::walk;

/// Minimum number of expectations that agree with the specification.
const AGREE_MIN: usize = 780;

/// Maximum number of skipped expectations.
const SKIPPED_MAX: usize = 242;

#[tokio::test]
async fn expectations_of_cases_match_the_specification() {
    let mut agree = 0;
    let mut one_sided: BTreeMap<Unspecified, usize> = BTreeMap::new();
    let mut skipped: BTreeMap<SkipReason, usize> = BTreeMap::new();
    let mut differ = Vec::new();
    for plan in plans(&case_files()).unwrap() {
        for (name, compared) in walk(&plan).await {
            match compared {
                Compared::Agrees(choices) => {
                    agree += 1;
                    for choice in choices {
                        *one_sided.entry(choice).or_default() += 1;
                    }
                }
                Compared::Skipped(why) => *skipped.entry(why).or_default() += 1,
                Compared::Differs(text) => differ.push(format!("{name}: {text}")),
            }
        }
    }
    println!("{agree} agree, {} differ", differ.len());
    for (choice, count) in &one_sided {
        println!("{count} of them want one of several outcomes that are allowed: {choice:?}");
    }
    for (why, count) in &skipped {
        println!("{count} left out: {why}");
    }
    assert_eq!(differ.join("\n"), "");
    let skipped: usize = skipped.values().sum();
    assert!(agree >= AGREE_MIN, "only {agree} agree");
    assert!(skipped <= SKIPPED_MAX, "{skipped} are skipped");
}
