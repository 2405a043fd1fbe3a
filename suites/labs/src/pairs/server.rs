//! Determines the values of a case on the axes for CSIDriver.storageCapacity, feature gates and releases, including changes by actions.

use std::collections::BTreeSet;

use suites::harness::plan::{ActionSpec, CsiDriverAction};
use suites::harness::scenario::{Role, SchedulerSpec};

use super::case::{Case, values_whose_condition_holds};

const GATE: &str = "CSIStorageCapacity";
/// Minor version of the first release whose scheduler scores by default.
const SCORES_FROM: u8 = 37;

pub(super) fn storage_capacity_values(case: &Case<'_>) -> BTreeSet<&'static str> {
    let driver = &case.cluster.driver;
    let first = match (driver.object, driver.storage_capacity) {
        (false, _) => "no CSIDriver",
        (true, None) => "unset",
        (true, Some(true)) => "true",
        (true, Some(false)) => "false",
    };
    let changes = case.actions.iter().filter_map(|action| match action {
        ActionSpec::CsiDriver(CsiDriverAction::Delete) => Some("deleted"),
        ActionSpec::CsiDriver(CsiDriverAction::Create(_)) => Some("recreated"),
        ActionSpec::CsiDriver(CsiDriverAction::StorageCapacity(true)) => Some("flipped on"),
        ActionSpec::CsiDriver(CsiDriverAction::StorageCapacity(false)) => Some("flipped off"),
        _ => None,
    });
    std::iter::once(first).chain(changes).collect()
}

pub(super) fn feature_gate_values(case: &Case<'_>) -> BTreeSet<&'static str> {
    let later = case.actions.iter().filter_map(|action| match action {
        ActionSpec::Release(release) => Some(release.gates.get(GATE).copied()),
        _ => None,
    });
    let first = case.cluster.gates.get(GATE).copied();
    let all: BTreeSet<Option<bool>> = std::iter::once(first).chain(later).collect();
    let mut values = values_whose_condition_holds([
        (all.contains(&None), "server default"),
        (all.contains(&Some(true)), "server on"),
        (all.contains(&Some(false)), "server off"),
        (all.len() > 1, "server toggled"),
    ]);
    if case.has(Role::Scheduler) {
        values.extend(scheduler_gate(&settings(case)));
    }
    values
}

/// The initial settings of the scheduler, followed by the settings that actions of the case set.
fn settings<'a>(case: &Case<'a>) -> Vec<&'a SchedulerSpec> {
    let later = case.actions.iter().filter_map(|action| match action {
        ActionSpec::Scheduler(settings) => Some(settings),
        _ => None,
    });
    std::iter::once(&case.cluster.scheduler).chain(later).collect()
}

fn scheduler_gate(settings: &[&SchedulerSpec]) -> BTreeSet<&'static str> {
    let differ = |of: fn(&SchedulerSpec) -> Option<bool>| {
        settings.iter().map(|it| of(it)).collect::<BTreeSet<_>>().len() > 1
    };
    let any = |is: fn(&SchedulerSpec) -> bool| settings.iter().any(|it| is(it));
    let scores_by_itself = |it: &SchedulerSpec| {
        it.scoring.is_none() && it.release.is_some_and(|release| release.minor() >= SCORES_FROM)
    };
    values_whose_condition_holds([
        (any(|it| it.capacity_gate == Some(false)), "scheduler off"),
        (differ(|it| it.capacity_gate), "scheduler toggled"),
        (
            any(|it| it.volume_capacity_priority == Some(true)),
            "VolumeCapacityPriority",
        ),
        (
            any(|it| it.scoring == Some(true)) || any(scores_by_itself),
            "scoring on",
        ),
        (any(|it| it.scoring == Some(false)), "scoring off"),
        (differ(|it| it.scoring), "scoring toggled"),
    ])
}

pub(super) fn release_values(case: &Case<'_>) -> BTreeSet<&'static str> {
    let mut now = case.cluster.release;
    let mut values = BTreeSet::from([release_group(now.minor())]);
    for action in &case.actions {
        let ActionSpec::Release(change) = action else {
            continue;
        };
        let to = change.to.unwrap_or(now);
        values.insert(release_group(to.minor()));
        values.extend((to > now).then_some("upgrade"));
        values.extend((to < now).then_some("downgrade"));
        now = to;
    }
    let is_other = |it: &&SchedulerSpec| it.release.is_some_and(|release| release != case.cluster.release);
    if case.has(Role::Scheduler) && settings(case).iter().any(is_other) {
        values.insert("scheduler of another release");
    }
    values
}

/// The axis value for a release: the range of releases with the same CSIStorageCapacity API.
fn release_group(minor: u8) -> &'static str {
    match minor {
        ..=18 => "1.18",
        19..=20 => "1.19-1.20",
        21..=22 => "1.21-1.22",
        23 => "1.23",
        24..=26 => "1.24-1.26",
        27..=36 => "1.27-1.36",
        37.. => "1.37",
    }
}
