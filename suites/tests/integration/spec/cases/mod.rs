//! Compares every explicit expectation on capacities and placement in the cases with the specification.
//!
//! Each case is simulated on the specification's cluster state: actions change it, and correct programs work between the steps.
//! Expectations that the state cannot decide are skipped for a typed reason, counted and limited.

mod actions;
mod cluster;
mod compare;
mod left_out;
mod plugin;
mod volumes;
mod walk;

use std::collections::BTreeMap;

use capacity_spec::Unspecified;
use suites::{case_files, plans};

use compare::Compared;
use left_out::LeftOut;
use walk::walk;

/// Minimum number of agreeing expectations.
const AGREE_MIN: usize = 780;

/// Maximum number of skipped expectations.
const LEFT_OUT_MAX: usize = 242;

#[tokio::test]
async fn expectations_of_cases_match_the_specification() {
    let mut agree = 0;
    let mut one_sided: BTreeMap<Unspecified, usize> = BTreeMap::new();
    let mut left_out: BTreeMap<LeftOut, usize> = BTreeMap::new();
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
                Compared::LeftOut(why) => *left_out.entry(why).or_default() += 1,
                Compared::Differs(text) => differ.push(format!("{name}: {text}")),
            }
        }
    }
    println!("{agree} agree, {} differ", differ.len());
    for (choice, count) in &one_sided {
        println!("{count} of them want one of several outcomes that are allowed: {choice:?}");
    }
    for (why, count) in &left_out {
        println!("{count} left out: {why}");
    }
    assert_eq!(differ.join("\n"), "");
    let left_out: usize = left_out.values().sum();
    assert!(agree >= AGREE_MIN, "only {agree} agree");
    assert!(left_out <= LEFT_OUT_MAX, "{left_out} are skipped");
}
