//! Semantics of an entry: which volumes it applies to, when it expires, and which of two conflicting entries applies.

use std::collections::BTreeSet;

use super::lookup;
use super::model::timestamp;
use super::rules::DesignRules;
use super::shape::{Objects, Shape};
use super::world::{Class, Driver, Node, NodeAccess, Pool, PoolCapacity, VolumeKind, VolumeRequest, World};
use crate::study::result::{Bound, Finding};

const DRIVER: &str = "disk.example.com";
const NOON: u32 = 12 * 60 * 60;
const LAST_SECOND: u32 = 24 * 60 * 60 - 1;

/// A volume request, and the nodes expected to accept it.
type Row<'r> = (Option<&'r str>, u64, &'r [&'r str]);

/// The findings.
pub(super) fn findings(rules: &DesignRules) -> Vec<Finding> {
    let mut findings = vec![
        opt_in(rules),
        Finding::none(
            "ALT-05",
            "wrong nodes for a pool with neither topology nor nodes",
            of_everywhere(rules, Shape::DriverStatus),
        ),
        Finding::none(
            "ALT-29",
            "wrong nodes for a pool of the KEP without topology",
            of_everywhere(rules, Shape::StoragePool),
        ),
        Finding::none(
            "ALT-29",
            "nodes for which a pool of another driver applies",
            of_another_driver(rules),
        ),
        Finding::none(
            "ALT-28",
            "wrong nodes where two pools have the same spec",
            of_two(rules),
        ),
    ];
    findings.extend(special_names(rules));
    findings.extend(validity(rules));
    findings.extend(best_effort(rules));
    findings
}

/// Two nodes, two classes, and one pool with these capacities on the first node.
fn world(capacities: Vec<PoolCapacity>) -> World {
    let class = |name: &str| Class {
        name: name.to_owned(),
        driver: DRIVER.to_owned(),
    };
    World {
        nodes: vec![Node::new("n1", &[]), Node::new("n2", &[])],
        drivers: vec![Driver {
            name: DRIVER.to_owned(),
            tracks: Some(true),
        }],
        classes: vec![class("fast"), class("slow")],
        pools: vec![Pool {
            name: "n1".to_owned(),
            driver: DRIVER.to_owned(),
            node_access: NodeAccess::node("n1"),
            capacities,
        }],
        now: NOON,
    }
}

/// Number of rows with another result than expected.
fn wrong(rules: &DesignRules, shape: Shape, world: &World, rows: &[Row<'_>]) -> usize {
    match shape.publish(world) {
        Ok(objects) => wrong_of(rules, &objects, world, rows),
        Err(_) => rows.len(),
    }
}

fn wrong_of(rules: &DesignRules, objects: &Objects, world: &World, rows: &[Row<'_>]) -> usize {
    let entries = lookup::entries(rules, objects, &world.classes);
    let is_wrong = |(class, bytes, wanted): &&Row<'_>| {
        let volume_request = VolumeRequest::new(DRIVER, *class, *bytes);
        let found = lookup::feasible_nodes(rules, world, &entries, &volume_request);
        found != wanted.iter().copied().collect::<BTreeSet<_>>()
    };
    rows.iter().filter(is_wrong).count()
}

fn opt_in(rules: &DesignRules) -> Finding {
    let cases: [(Option<bool>, &[&str]); 3] = [
        (None, &["n1", "n2"]),
        (Some(false), &["n1", "n2"]),
        (Some(true), &[]),
    ];
    let wrong = cases.into_iter().map(|(tracks, wanted)| {
        let mut world = world(Vec::new());
        world.drivers[0].tracks = tracks;
        wrong(rules, Shape::DriverStatus, &world, &[(Some("fast"), 1, wanted)])
    });
    Finding::none(
        "ALT-01",
        "wrong decisions for capacityTracking unset, false and true",
        wrong.sum(),
    )
}

fn of_everywhere(rules: &DesignRules, shape: Shape) -> usize {
    let mut world = world(vec![PoolCapacity::new(VolumeKind::class("fast"), 10)]);
    world.pools[0].node_access = NodeAccess::Cluster;
    wrong(rules, shape, &world, &[(Some("fast"), 10, &["n1", "n2"])])
}

fn of_another_driver(rules: &DesignRules) -> usize {
    let mut world = world(vec![PoolCapacity::new(VolumeKind::class("fast"), 10)]);
    let Ok(Objects::StoragePool(mut pools)) = Shape::StoragePool.publish(&world) else {
        return 1;
    };
    world.pools.clear();
    pools[0].spec.driver_name = "other.example.com".to_owned();
    wrong_of(
        rules,
        &Objects::StoragePool(pools),
        &world,
        &[(Some("fast"), 10, &[])],
    )
}

/// The newer of two pools has less capacity; tried in both list orders.
fn of_two(rules: &DesignRules) -> usize {
    let orders = [[1, 2], [2, 1]].into_iter().map(|made| {
        let world = world(vec![PoolCapacity::new(VolumeKind::class("fast"), 10)]);
        let Ok(Objects::PoolOf2019(mut pools)) = Shape::PoolOf2019.publish(&world) else {
            return 1;
        };
        pools.push(pools[0].clone());
        for (pool, made) in pools.iter_mut().zip(made) {
            pool.metadata.creation_timestamp = timestamp(made);
            let bytes = if made == 2 { "5" } else { "10" };
            pool.status.classes[0].capacity = Some(bytes.to_owned());
        }
        let rows: [Row<'_>; 2] = [(Some("fast"), 5, &["n1"]), (Some("fast"), 6, &[])];
        wrong_of(rules, &Objects::PoolOf2019(pools), &world, &rows)
    });
    orders.sum()
}

fn special_names(rules: &DesignRules) -> [Finding; 3] {
    let fallback = world(vec![
        PoolCapacity::new(VolumeKind::Others, 10),
        PoolCapacity::new(VolumeKind::class("fast"), 5),
    ]);
    let rows: [Row<'_>; 3] = [
        (Some("fast"), 8, &[]),
        (Some("slow"), 8, &["n1"]),
        (None, 8, &["n1"]),
    ];
    let inline = world(vec![
        PoolCapacity::new(VolumeKind::Inline, 10),
        PoolCapacity::new(VolumeKind::Others, 5),
    ]);
    let inline_rows: [Row<'_>; 2] = [(None, 8, &["n1"]), (Some("fast"), 8, &[])];
    let checked: [Row<'_>; 2] = [(None, 10, &["n1"]), (None, 11, &[])];
    let wrong = |world, rows| wrong(rules, Shape::DriverStatus, world, rows);
    [
        Finding::none(
            "ALT-08",
            "wrong decisions for a pool with <fallback> and a class",
            wrong(&fallback, &rows),
        ),
        Finding::none(
            "ALT-09",
            "wrong decisions for a pool with <ephemeral> and <fallback>",
            wrong(&inline, &inline_rows),
        ),
        Finding::none(
            "ALT-22",
            "wrong decisions for inline volumes of about the size of the capacity",
            wrong(&inline, &checked),
        ),
    ]
}

/// An entry that expires at noon, evaluated before, at and after that time; and one without expiry, at the end of the day.
fn validity(rules: &DesignRules) -> [Finding; 2] {
    let wrong_at = |now: u32, until: Option<u32>, wanted: &[&str]| {
        let mut capacity = PoolCapacity::new(VolumeKind::class("fast"), 10);
        capacity.until = until;
        let mut world = world(vec![capacity]);
        world.now = now;
        wrong(rules, Shape::DriverStatus, &world, &[(Some("fast"), 10, wanted)])
    };
    let until = Some(NOON);
    let around =
        wrong_at(NOON - 1, until, &["n1"]) + wrong_at(NOON, until, &[]) + wrong_at(NOON + 1, until, &[]);
    [
        Finding::none(
            "ALT-11",
            "wrong decisions one second before, at, and one second after expiryTime",
            around,
        ),
        Finding::none(
            "ALT-12",
            "wrong decisions by an entry without expiryTime, at the last second of the day",
            wrong_at(LAST_SECOND, None, &["n1"]),
        ),
    ]
}

/// A node with four disks of 10 publishes its maximum volume size once. That admits five volumes of 10, one of which does not fit.
fn best_effort(rules: &DesignRules) -> [Finding; 2] {
    let mut disks = vec![10_u64; 4];
    let largest = disks.iter().max().copied().unwrap_or_default();
    let world = world(vec![PoolCapacity::new(VolumeKind::class("fast"), largest)]);
    let rows: [Row<'_>; 2] = [(Some("fast"), 10, &["n1"]), (Some("fast"), 11, &[])];
    let made = (0..5).filter(|_| disks.pop().is_some()).count();
    [
        Finding::none(
            "ALT-10",
            "wrong decisions for volumes of about the size of the largest of four disks",
            wrong(rules, Shape::DriverStatus, &world, &rows),
        ),
        Finding::count(
            "ALT-10",
            "volumes, of 5, that the capacity admits but that cannot be provisioned",
            5 - made,
            Bound::AtLeast(1.0),
        ),
    ]
}
