//! Experiments on a capacity entry of the designs: the volumes to which it applies, when it expires, and which of two conflicting entries
//! applies.

use std::collections::BTreeSet;

use super::input_cluster::{
    Class, Driver, InputCluster, Node, NodeAccess, Pool, PoolCapacity, VolumeKind, VolumeRequest,
};
use super::lookup;
use super::model::timestamp;
use super::rules::DesignRules;
use super::shape::{Objects, Shape};
use crate::study::result::{Bound, Finding, findings};

const DRIVER: &str = "disk.example.com";
const NOON: u32 = 12 * 60 * 60;
const LAST_SECOND: u32 = 24 * 60 * 60 - 1;

/// A volume request (class and size), and the nodes that must accept the volume.
type Row<'r> = (Option<&'r str>, u64, &'r [&'r str]);

pub(super) fn findings(rules: &DesignRules) -> Vec<Finding> {
    let mut findings = vec![opt_in_finding(rules)];
    findings.extend(findings![
        none "ALT-05", "wrong nodes for a pool with neither topology nor nodes",
            wrong_without_topology(rules, Shape::DriverStatus);
        none "ALT-29", "wrong nodes for a pool of the KEP without topology",
            wrong_without_topology(rules, Shape::StoragePool);
        none "ALT-29", "nodes for which a pool of another driver applies", wrong_for_another_driver(rules);
        none "ALT-28", "wrong nodes where two pools have the same spec", wrong_with_two_pools(rules);
    ]);
    findings.extend(special_name_findings(rules));
    findings.extend(expiry_findings(rules));
    findings.extend(best_effort_findings(rules));
    findings
}

/// A cluster of two nodes and two classes; the only pool is on the first node and has these capacities.
fn cluster(capacities: Vec<PoolCapacity>) -> InputCluster {
    let class = |name: &str| Class {
        name: name.to_owned(),
        driver: DRIVER.to_owned(),
    };
    InputCluster {
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

/// Number of volume requests (rows) for which the design accepts other nodes than it must.
fn count_wrong(rules: &DesignRules, shape: Shape, cluster: &InputCluster, rows: &[Row<'_>]) -> usize {
    match shape.publish(cluster) {
        Ok(objects) => count_wrong_in(rules, &objects, cluster, rows),
        Err(_) => rows.len(),
    }
}

fn count_wrong_in(rules: &DesignRules, objects: &Objects, cluster: &InputCluster, rows: &[Row<'_>]) -> usize {
    let entries = lookup::entries(rules, objects, &cluster.classes);
    let is_wrong = |(class, bytes, wanted): &&Row<'_>| {
        let volume_request = VolumeRequest::new(DRIVER, *class, *bytes);
        let found = lookup::feasible_nodes(rules, cluster, &entries, &volume_request);
        found != wanted.iter().copied().collect::<BTreeSet<_>>()
    };
    rows.iter().filter(is_wrong).count()
}

fn opt_in_finding(rules: &DesignRules) -> Finding {
    let cases: [(Option<bool>, &[&str]); 3] = [
        (None, &["n1", "n2"]),
        (Some(false), &["n1", "n2"]),
        (Some(true), &[]),
    ];
    let wrong = cases.into_iter().map(|(tracks, wanted)| {
        let mut cluster = cluster(Vec::new());
        cluster.drivers[0].tracks = tracks;
        count_wrong(rules, Shape::DriverStatus, &cluster, &[(Some("fast"), 1, wanted)])
    });
    Finding::none(
        "ALT-01",
        "wrong decisions for capacityTracking unset, false and true",
        wrong.sum(),
    )
}

fn wrong_without_topology(rules: &DesignRules, shape: Shape) -> usize {
    let mut cluster = cluster(vec![PoolCapacity::new(VolumeKind::class("fast"), 10)]);
    cluster.pools[0].node_access = NodeAccess::Cluster;
    count_wrong(rules, shape, &cluster, &[(Some("fast"), 10, &["n1", "n2"])])
}

fn wrong_for_another_driver(rules: &DesignRules) -> usize {
    let mut cluster = cluster(vec![PoolCapacity::new(VolumeKind::class("fast"), 10)]);
    let Ok(Objects::StoragePool(mut pools)) = Shape::StoragePool.publish(&cluster) else {
        return 1;
    };
    cluster.pools.clear();
    pools[0].spec.driver_name = "other.example.com".to_owned();
    count_wrong_in(
        rules,
        &Objects::StoragePool(pools),
        &cluster,
        &[(Some("fast"), 10, &[])],
    )
}

/// Number of wrong results with two pools of the same spec, of which the newer pool has less capacity; the sum over both orders of the
/// pools.
fn wrong_with_two_pools(rules: &DesignRules) -> usize {
    let orders = [[1, 2], [2, 1]].into_iter().map(|made| {
        let cluster = cluster(vec![PoolCapacity::new(VolumeKind::class("fast"), 10)]);
        let Ok(Objects::PoolOf2019(mut pools)) = Shape::PoolOf2019.publish(&cluster) else {
            return 1;
        };
        pools.push(pools[0].clone());
        for (pool, made) in pools.iter_mut().zip(made) {
            pool.metadata.creation_timestamp = timestamp(made);
            let bytes = if made == 2 { "5" } else { "10" };
            pool.status.classes[0].capacity = Some(bytes.to_owned());
        }
        let rows: [Row<'_>; 2] = [(Some("fast"), 5, &["n1"]), (Some("fast"), 6, &[])];
        count_wrong_in(rules, &Objects::PoolOf2019(pools), &cluster, &rows)
    });
    orders.sum()
}

fn special_name_findings(rules: &DesignRules) -> Vec<Finding> {
    let fallback = cluster(vec![
        PoolCapacity::new(VolumeKind::Fallback, 10),
        PoolCapacity::new(VolumeKind::class("fast"), 5),
    ]);
    let rows: [Row<'_>; 3] = [
        (Some("fast"), 8, &[]),
        (Some("slow"), 8, &["n1"]),
        (None, 8, &["n1"]),
    ];
    let inline = cluster(vec![
        PoolCapacity::new(VolumeKind::Inline, 10),
        PoolCapacity::new(VolumeKind::Fallback, 5),
    ]);
    let inline_rows: [Row<'_>; 2] = [(None, 8, &["n1"]), (Some("fast"), 8, &[])];
    let checked: [Row<'_>; 2] = [(None, 10, &["n1"]), (None, 11, &[])];
    let wrong = |cluster, rows| count_wrong(rules, Shape::DriverStatus, cluster, rows);
    findings![
        none "ALT-08", "wrong decisions for a pool with <fallback> and a class", wrong(&fallback, &rows);
        none "ALT-09", "wrong decisions for a pool with <ephemeral> and <fallback>", wrong(&inline, &inline_rows);
        none "ALT-22", "wrong decisions for inline volumes of about the size of the capacity",
            wrong(&inline, &checked);
    ]
}

/// Findings on an entry that expires at noon, evaluated before, at and after noon, and on an entry without expiry, evaluated at the end
/// of the day.
fn expiry_findings(rules: &DesignRules) -> Vec<Finding> {
    let wrong_at = |now: u32, until: Option<u32>, wanted: &[&str]| {
        let mut capacity = PoolCapacity::new(VolumeKind::class("fast"), 10);
        capacity.until = until;
        let mut cluster = cluster(vec![capacity]);
        cluster.now = now;
        count_wrong(
            rules,
            Shape::DriverStatus,
            &cluster,
            &[(Some("fast"), 10, wanted)],
        )
    };
    let until = Some(NOON);
    let around =
        wrong_at(NOON - 1, until, &["n1"]) + wrong_at(NOON, until, &[]) + wrong_at(NOON + 1, until, &[]);
    findings![
        none "ALT-11", "wrong decisions one second before, at, and one second after expiryTime", around;
        none "ALT-12", "wrong decisions by an entry without expiryTime, at the last second of the day",
            wrong_at(LAST_SECOND, None, &["n1"]);
    ]
}

/// Findings on a node with four disks of 10 that publishes its maximum volume size once. Five volumes of size 10 are accepted, one of which
/// does not fit.
fn best_effort_findings(rules: &DesignRules) -> Vec<Finding> {
    let mut disks = vec![10_u64; 4];
    let largest = disks.iter().max().copied().unwrap_or_default();
    let cluster = cluster(vec![PoolCapacity::new(VolumeKind::class("fast"), largest)]);
    let rows: [Row<'_>; 2] = [(Some("fast"), 10, &["n1"]), (Some("fast"), 11, &[])];
    let made = (0..5).filter(|_| disks.pop().is_some()).count();
    findings![
        none "ALT-10", "wrong decisions for volumes of about the size of the largest of four disks",
            count_wrong(rules, Shape::DriverStatus, &cluster, &rows);
        count "ALT-10", "volumes, of 5, that the capacity admits but that cannot be provisioned",
            5 - made, Bound::AtLeast(1.0);
    ]
}
