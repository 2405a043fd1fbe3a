//! All axis values of a case.

use std::collections::BTreeSet;

use suites::harness::plan::ActionSpec;
use suites::harness::plan::resolve;
use suites::harness::scenario::{Scenario, ScenarioError};

use super::case::Case;
use super::{objects, server};

/// An axis and one of its values.
pub(super) type Pair = (&'static str, &'static str);

/// The values of a case.
pub(super) fn values(scenario: &Scenario) -> Result<BTreeSet<Pair>, ScenarioError> {
    let steps = scenario.file.steps.iter();
    let actions = steps.flat_map(|step| step.value.actions.iter().map(|action| attempted(&action.value)));
    let case = Case {
        cluster: &scenario.file.cluster,
        roles: resolve(scenario)?.roles.clone(),
        actions: actions.collect(),
    };
    let of = |axis: &'static str, values: BTreeSet<&'static str>| {
        values.into_iter().map(move |value| (axis, value))
    };
    let all = of("mode", case.mode())
        .chain(of("class", case.class()))
        .chain(of("topology", case.topology()))
        .chain(of("prior", objects::prior(&case)))
        .chain(of("flag", server::flag(&case)))
        .chain(of("gate", server::gate(&case)))
        .chain(of("release", server::release(&case)));
    Ok(all.collect())
}

fn attempted(action: &ActionSpec) -> &ActionSpec {
    match action {
        ActionSpec::Attempt(action) => attempted(action),
        action => action,
    }
}
