//! Defects of the API server's emulated release, resources and metrics.

use std::collections::BTreeMap;

use fake_apiserver::{Effect, Match, Release, Rule, Verb};

use super::actions::{begin_with, edit_actions};
use crate::expectation::Predicate;
use crate::plan::{Action, Plan};
use crate::scenario::MetricsSource;

type Gates = BTreeMap<String, bool>;

/// The last release in which `storageCapacity` of a CSIDriver is immutable.
pub(super) fn last_beta() -> Release {
    Release::new(22).unwrap_or_default()
}

pub(super) fn emulate_only_release(plan: &mut Plan, one: Release) {
    each_release(plan, |release, _| *release = one);
}

/// Edits the initial release of the API server and every release that a later action sets.
pub(super) fn each_release(plan: &mut Plan, change: impl Fn(&mut Release, &mut Gates)) {
    let case = &mut plan.case;
    change(&mut case.release, &mut case.gates);
    edit_actions(plan, |action| {
        if let Action::Release(release, gates) = action {
            change(release, gates);
        }
    });
}

/// Emulates that the API server lacks the metrics with this name prefix: removes the expectations about them.
pub(super) fn withhold_metric(plan: &mut Plan, name: &str) {
    plan.specified_metrics.retain(|known| !known.starts_with(name));
    for expect in plan.steps.iter_mut().flat_map(|step| &mut step.expect) {
        if let Predicate::Metrics(metrics) = &mut expect.predicate {
            metrics
                .0
                .retain(|metric| metric.of != MetricsSource::Server || !metric.series.name.starts_with(name));
        }
    }
}

/// Adds a fault rule that responds with 404 (Not Found) to all reads of the resource.
pub(super) fn hide_resource(plan: &mut Plan, resource: &str) {
    let rule = Rule {
        on: Match {
            verbs: vec![Verb::Get, Verb::List, Verb::Watch],
            resource: Some(resource.to_owned()),
            ..Match::default()
        },
        skip: 0,
        times: None,
        chance: None,
        effect: Effect::Status {
            code: 404,
            retry_after_seconds: 0,
        },
    };
    let fault = Action::Fault {
        id: format!("no {resource}"),
        rule,
        kills: false,
    };
    begin_with(plan, [fault]);
}
