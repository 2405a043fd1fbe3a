//! Which pairs of values occur together in some case, for every two of the axes along which cases differ: deployment, classes, topology,
//! objects of earlier, the CSIDriver's flag, gates and releases.
//!
//! Reads what cases say, whether a table, axes or nobody made them. Runs nothing.

mod axes;
mod case;
mod objects;
mod server;
mod values;

use std::collections::BTreeSet;

use suites::harness::scenario::{PairCoverage, Scenario, ScenarioError};

use self::axes::{AXES, Axis, is_possible};
use self::values::values;

/// The pairs that these cases have.
pub fn pairs<'s>(
    scenarios: impl IntoIterator<Item = &'s Scenario>,
) -> Result<Vec<PairCoverage>, ScenarioError> {
    let cases: Result<Vec<_>, _> = scenarios.into_iter().map(values).collect();
    let cases = cases?;
    let two = AXES
        .iter()
        .enumerate()
        .flat_map(|(at, first)| AXES[at + 1..].iter().map(move |second| (first, second)));
    Ok(two.map(|(first, second)| of_two(first, second, &cases)).collect())
}

fn of_two(first: &Axis, second: &Axis, cases: &[BTreeSet<(&str, &str)>]) -> PairCoverage {
    let mut coverage = PairCoverage::of(first.name, second.name);
    for value in first.values {
        for other in second.values {
            if is_possible(first.name, value, second.name, other) {
                let has_both = |case: &BTreeSet<_>| {
                    case.contains(&(first.name, *value)) && case.contains(&(second.name, *other))
                };
                coverage.add(value, other, cases.iter().any(has_both));
            }
        }
    }
    coverage
}
