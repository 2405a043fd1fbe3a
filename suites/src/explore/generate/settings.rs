//! Generates the settings of the API server and the programs.

use std::collections::BTreeMap;

use harness::scenario::{Mode, ShapePoint};

use super::super::cluster::{Extender, Publisher, Scheduler};
use super::super::event;
use super::super::rng::SeededRng;
use super::super::state::GATE;
use super::topology::NODES;

/// API server releases between which behaviour changes.
const RELEASES: [&str; 8] = ["1.18", "1.19", "1.20", "1.21", "1.23", "1.24", "1.27", "1.37"];

/// Scheduler releases between which behaviour changes.
const SCHEDULERS: [u8; 7] = [19, 21, 23, 24, 32, 33, 37];

/// An API server release with its feature gates.
pub(super) fn release(rng: &mut SeededRng) -> event::Release {
    let release = *rng.pick(&RELEASES);
    // In releases in which the feature gate is off by default, a cluster with capacity tracking enables the gate.
    let gate = match release {
        "1.19" | "1.20" => (!rng.one_in(4)).then_some(true),
        "1.21" | "1.23" => rng.one_in(3).then_some(false),
        _ => None,
    };
    event::Release {
        to: Some(release.to_owned()),
        gates: gate.map(|on| (GATE.to_owned(), on)).into_iter().collect(),
    }
}

/// Feature gates of a release that has the feature gate of KEP-1472: on, off, or default.
pub(super) fn gates(rng: &mut SeededRng, minor: u8) -> Option<BTreeMap<String, bool>> {
    if !(19..=23).contains(&minor) {
        return None;
    }
    Some(match rng.below(3) {
        0 => BTreeMap::new(),
        1 => [(GATE.to_owned(), true)].into(),
        _ => [(GATE.to_owned(), false)].into(),
    })
}

pub(super) fn publisher(rng: &mut SeededRng, mode: Mode) -> Publisher {
    let publish = !rng.one_in(20);
    let polls = !rng.one_in(6);
    let owner_level: Option<u8> = rng.one_in(4).then(|| *rng.pick(&[0, 1, 2]));
    // With one publisher per node, the owner of the publisher's pods is a DaemonSet, which has no owner.
    let highest = if mode == Mode::Distributed { 1 } else { 2 };
    let owner_level = owner_level.map(|level| level.min(highest));
    Publisher {
        publish,
        namespace: !(publish && rng.one_in(60)),
        polls,
        // Without polls of the driver, no later call shows that the rate limit delayed a call.
        get_capacity_qps: (polls && rng.one_in(12)).then_some(5),
        immediate: rng.one_in(5),
        zero_capacity_objects: rng.one_in(5),
        delete_unknown_capacity: rng.one_in(6),
        strict_topology: rng.one_in(4),
        // With ownerLevel 1, all distributed publishers have the same owner, so none of them could recognize its objects by owner.
        identify_by_owner: mode == Mode::Central && owner_level.is_some() && rng.one_in(5),
        owner_level,
        replicas: (mode == Mode::Central && rng.one_in(8)).then(|| *rng.pick(&[1, 2])),
    }
}

pub(super) fn scheduler(rng: &mut SeededRng) -> Scheduler {
    let minor = rng.one_in(4).then(|| *rng.pick(&SCHEDULERS));
    let known = minor.unwrap_or(36);
    let mut settings = Scheduler {
        release: minor.map(|minor| format!("1.{minor}")),
        ..Scheduler::default()
    };
    match known {
        // The scheduler's feature gate is off by default in these releases; without the gate, a scheduler ignores capacity.
        19..=20 => settings.capacity_gate = (!rng.one_in(3)).then_some(true),
        21..=23 => settings.capacity_gate = rng.one_in(3).then_some(false),
        _ => {}
    }
    if (21..=32).contains(&known) {
        settings.volume_capacity_priority = rng.one_in(2).then_some(true);
    }
    if known >= 33 {
        settings.scoring = (!rng.one_in(3)).then_some(true);
        settings.shape = (settings.scoring.is_some() && rng.one_in(2)).then(|| shape(rng));
        if rng.one_in(40) {
            // The scheduler refuses to start with a scoring shape while scoring is disabled.
            settings.scoring = Some(false);
            settings.shape = Some(shape(rng));
        }
    }
    settings
}

/// A scoring shape that rises, falls, is constant, or has its maximum in between.
fn shape(rng: &mut SeededRng) -> Vec<ShapePoint> {
    let points: &[(u8, u8)] = match rng.below(4) {
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

pub(super) fn extenders(rng: &mut SeededRng) -> Vec<Extender> {
    let count = if rng.one_in(4) { 2 } else { 1 };
    (1..=count).map(|number| extender(rng, number)).collect()
}

fn extender(rng: &mut SeededRng, number: u32) -> Extender {
    let mut node = || (*rng.pick(&NODES[..3])).to_owned();
    let (refused, preferred) = (node(), node());
    let fails = rng.one_in(5);
    Extender {
        name: format!("e{number}"),
        refuses: rng
            .one_in(2)
            .then(|| (refused, "full".to_owned()))
            .into_iter()
            .collect(),
        prefers: rng.one_in(2).then_some((preferred, 10)).into_iter().collect(),
        weight: rng.one_in(4).then_some(3),
        by_name: rng.one_in(2),
        // A failing extender that is not ignorable blocks all pods.
        ignorable: fails && !rng.one_in(4),
        fails,
        // Only one extender may manage an extended resource.
        resource: rng.one_in(5).then(|| format!("example.com/gpu-{number}")),
    }
}
