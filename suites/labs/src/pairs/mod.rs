//! Pair coverage: for every two axes, which pairs of values occur in a case. Axes are deployment, classes, topology, existing objects, the
//! CSIDriver's `storageCapacity`, feature gates and releases.
//!
//! Reads the resolved cases, whether written by hand or generated from tables or axes. Runs nothing.

mod axes;
mod case;
mod objects;
mod server;
mod values;

use std::collections::BTreeSet;

use suites::harness::scenario::{PairCoverage, Scenario, ScenarioError};

use self::axes::{AXES, Axis, can_occur_together};
use self::values::axis_values;

/// Computes the pair coverage of these cases.
pub fn pairs<'s>(
    scenarios: impl IntoIterator<Item = &'s Scenario>,
) -> Result<Vec<PairCoverage>, ScenarioError> {
    let cases: Result<Vec<_>, _> = scenarios.into_iter().map(axis_values).collect();
    let cases = cases?;
    let two = AXES
        .iter()
        .enumerate()
        .flat_map(|(at, first)| AXES[at + 1..].iter().map(move |second| (first, second)));
    Ok(two
        .map(|(first, second)| pair_coverage(first, second, &cases))
        .collect())
}

fn pair_coverage(first: &Axis, second: &Axis, cases: &[BTreeSet<(&str, &str)>]) -> PairCoverage {
    let mut coverage = PairCoverage::of(first.name, second.name);
    for value in first.values {
        for other in second.values {
            if can_occur_together(first.name, value, second.name, other) {
                let has_both = |case: &BTreeSet<_>| {
                    case.contains(&(first.name, *value)) && case.contains(&(second.name, *other))
                };
                coverage.add(value, other, cases.iter().any(has_both));
            }
        }
    }
    coverage
}
