//! Determines the values of a case on all axes of pair coverage.

use std::collections::BTreeSet;

use suites::harness::plan::ActionSpec;
use suites::harness::plan::resolve;
use suites::harness::scenario::{Scenario, ScenarioError};

use super::case::Case;
use super::{objects, server};

/// An axis of pair coverage and one of its values.
pub(super) type AxisValue = (&'static str, &'static str);

pub(super) fn axis_values(scenario: &Scenario) -> Result<BTreeSet<AxisValue>, ScenarioError> {
    let steps = scenario.file.steps.iter();
    let actions = steps.flat_map(|step| {
        step.value
            .actions
            .iter()
            .map(|action| unwrap_attempt(&action.value))
    });
    let case = Case {
        cluster: &scenario.file.cluster,
        roles: resolve(scenario)?.roles.clone(),
        actions: actions.collect(),
    };
    let of = |axis: &'static str, values: BTreeSet<&'static str>| {
        values.into_iter().map(move |value| (axis, value))
    };
    let all = of("mode", case.mode_values())
        .chain(of("class", case.class_values()))
        .chain(of("topology", case.topology_values()))
        .chain(of("prior", objects::prior_object_values(&case)))
        .chain(of("flag", server::storage_capacity_values(&case)))
        .chain(of("gate", server::feature_gate_values(&case)))
        .chain(of("release", server::release_values(&case)));
    Ok(all.collect())
}

fn unwrap_attempt(action: &ActionSpec) -> &ActionSpec {
    match action {
        ActionSpec::Attempt(action) => unwrap_attempt(action),
        action => action,
    }
}
