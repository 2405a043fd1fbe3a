//! Generates the settings of the API server and the programs.

use std::collections::BTreeMap;

use harness::scenario::{Mode, ShapePoint};

use super::super::dice::Dice;
use super::super::event;
use super::super::state::GATE;
use super::super::world::{Extender, Publisher, Scheduler};
use super::places::NODES;

/// API server releases between which behaviour changes.
const RELEASES: [&str; 8] = ["1.18", "1.19", "1.20", "1.21", "1.23", "1.24", "1.27", "1.37"];

/// Scheduler releases between which behaviour changes.
const SCHEDULERS: [u8; 7] = [19, 21, 23, 24, 32, 33, 37];

/// An API server release with its feature gates.
pub(super) fn release(dice: &mut Dice) -> event::Release {
    let release = *dice.pick(&RELEASES);
    // Before the gate was on by default, a cluster with capacity tracking has it enabled.
    let gate = match release {
        "1.19" | "1.20" => (!dice.one_in(4)).then_some(true),
        "1.21" | "1.23" => dice.one_in(3).then_some(false),
        _ => None,
    };
    event::Release {
        to: Some(release.to_owned()),
        gates: gate.map(|on| (GATE.to_owned(), on)).into_iter().collect(),
    }
}

/// Feature gates of a release that has the gate of KEP-1472: on, off, or its default.
pub(super) fn gates(dice: &mut Dice, minor: u8) -> Option<BTreeMap<String, bool>> {
    if !(19..=23).contains(&minor) {
        return None;
    }
    Some(match dice.below(3) {
        0 => BTreeMap::new(),
        1 => [(GATE.to_owned(), true)].into(),
        _ => [(GATE.to_owned(), false)].into(),
    })
}

/// Settings of the publisher.
pub(super) fn publisher(dice: &mut Dice, mode: Mode) -> Publisher {
    let publish = !dice.one_in(20);
    let polls = !dice.one_in(6);
    let owner_level: Option<u8> = dice.one_in(4).then(|| *dice.pick(&[0, 1, 2]));
    // The DaemonSet of a distributed publisher has no owner.
    let highest = if mode == Mode::Distributed { 1 } else { 2 };
    let owner_level = owner_level.map(|level| level.min(highest));
    Publisher {
        publish,
        namespace: !(publish && dice.one_in(60)),
        polls,
        // A call delayed by the rate limit is not observable without a next poll.
        get_capacity_qps: (polls && dice.one_in(12)).then_some(5),
        immediate: dice.one_in(5),
        zero_capacity_objects: dice.one_in(5),
        delete_unknown_capacity: dice.one_in(6),
        strict_topology: dice.one_in(4),
        // With ownerLevel 1 all distributed publishers have the same owner, so the owner cannot distinguish their objects.
        identify_by_owner: mode == Mode::Central && owner_level.is_some() && dice.one_in(5),
        owner_level,
        replicas: (mode == Mode::Central && dice.one_in(8)).then(|| *dice.pick(&[1, 2])),
    }
}

/// Settings of the scheduler.
pub(super) fn scheduler(dice: &mut Dice) -> Scheduler {
    let minor = dice.one_in(4).then(|| *dice.pick(&SCHEDULERS));
    let known = minor.unwrap_or(36);
    let mut settings = Scheduler {
        release: minor.map(|minor| format!("1.{minor}")),
        ..Scheduler::default()
    };
    match known {
        // Off by default, and a scheduler without it is of little interest.
        19..=20 => settings.capacity_gate = (!dice.one_in(3)).then_some(true),
        21..=23 => settings.capacity_gate = dice.one_in(3).then_some(false),
        _ => {}
    }
    if (21..=32).contains(&known) {
        settings.volume_capacity_priority = dice.one_in(2).then_some(true);
    }
    if known >= 33 {
        settings.scoring = (!dice.one_in(3)).then_some(true);
        settings.shape = (settings.scoring.is_some() && dice.one_in(2)).then(|| shape(dice));
        if dice.one_in(40) {
            // The scheduler refuses to start with this combination.
            settings.scoring = Some(false);
            settings.shape = Some(shape(dice));
        }
    }
    settings
}

/// A scoring shape: rising, falling, or with its maximum in between.
fn shape(dice: &mut Dice) -> Vec<ShapePoint> {
    let points: &[(u8, u8)] = match dice.below(4) {
        0 => &[(0, 0), (100, 10)],
        1 => &[(0, 10), (100, 0)],
        2 => &[(0, 0), (50, 10), (100, 0)],
        _ => &[(0, 5), (100, 5)],
    };
    points
        .iter()
        .map(|(utilization, score)| ShapePoint {
            utilization: *utilization,
            score: *score,
        })
        .collect()
}

/// Extenders of the scheduler.
pub(super) fn extenders(dice: &mut Dice) -> Vec<Extender> {
    let count = if dice.one_in(4) { 2 } else { 1 };
    (1..=count).map(|number| extender(dice, number)).collect()
}

fn extender(dice: &mut Dice, number: u32) -> Extender {
    let mut node = || (*dice.pick(&NODES[..3])).to_owned();
    let (refused, preferred) = (node(), node());
    let fails = dice.one_in(5);
    Extender {
        name: format!("e{number}"),
        refuses: dice
            .one_in(2)
            .then(|| (refused, "full".to_owned()))
            .into_iter()
            .collect(),
        prefers: dice.one_in(2).then_some((preferred, 10)).into_iter().collect(),
        weight: dice.one_in(4).then_some(3),
        by_name: dice.one_in(2),
        // A non-ignorable extender that fails blocks all pods.
        ignorable: fails && !dice.one_in(4),
        fails,
        // A resource may be managed by one extender only.
        resource: dice.one_in(5).then(|| format!("example.com/gpu-{number}")),
    }
}
