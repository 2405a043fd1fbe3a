//! Behaviour of an API server that serves the rejected designs: which objects it stores and which it rejects.

use serde_json::{Value, json};

use super::examples;
use super::lookup;
use super::model::{ClassCapacity, CsiDriver, Metadata, NamedPool, PoolOf2019, StoragePool};
use super::rules::DesignRules;
use super::server::{self, Edition};
use super::shape::{Objects, Shape};
use crate::study::result::{Bound, Finding, findings};

/// An example of the KEP that is invalid: `status` occurs twice, because a separator between two objects is missing.
const MALFORMED: &str = "
metadata: {name: sp-2}
spec:
  driverName: disk.example.com
status:
  classes: [{storageClassName: fast, capacity: 1G}]
status:
  classes: [{storageClassName: fast, capacity: 2G}]
";

pub(super) fn findings(rules: &DesignRules) -> Vec<Finding> {
    let mut findings = list_findings(rules);
    findings.extend(field_name_findings(rules));
    findings.extend(object_findings(rules));
    findings.extend(gate_findings(rules));
    findings
}

/// A CSIDriver whose status contains the storage of the KEP's example of local storage.
fn driver() -> CsiDriver {
    let Ok(Objects::DriverStatus(mut drivers)) = Shape::DriverStatus.publish(&examples::local()) else {
        return CsiDriver::default();
    };
    drivers.pop().unwrap_or_default()
}

fn pool(name: &str, classes: &[(&str, &str)]) -> NamedPool {
    let class = |(name, bytes): &(&str, &str)| ClassCapacity {
        storage_class_name: (*name).to_owned(),
        capacity: Some((*bytes).to_owned()),
        expiry_time: None,
    };
    NamedPool {
        name: name.to_owned(),
        node_topology: None,
        node_list: None,
        classes: classes.iter().map(class).collect(),
    }
}

fn list_findings(rules: &DesignRules) -> Vec<Finding> {
    let stored = driver();
    let text = serde_json::to_value(&stored).unwrap_or_default();
    let read = server::decode(rules, Edition::Of2019, text);
    let mut twice = stored.clone();
    twice.status.storage.push(stored.status.storage[0].clone());
    let mut patched = stored.clone();
    for pool in [
        pool("node-1", &[("slow", "7")]),
        pool("node-1", &[("fast", "3")]),
        pool("node-1", &[("fast", "4")]),
    ] {
        server::patch(rules, &mut patched, &[pool]);
    }
    let classes = patched
        .status
        .storage
        .iter()
        .find(|pool| pool.name == "node-1")
        .map_or(0, |pool| pool.classes.len());
    findings![
        count "ALT-02", "pools that are unchanged by encoding and decoding",
            read.map_or(0, |read| {
                read.status
                    .storage
                    .iter()
                    .filter(|pool| stored.status.storage.contains(pool))
                    .count()
            }), Bound::Exactly(2.0);
        none "ALT-02", "statuses with two pools of one name that are accepted",
            usize::from(server::validate(rules, &twice).is_ok());
        count "ALT-04", "classes of a pool with one class after patches with two others",
            classes, Bound::Exactly(3.0);
    ]
}

/// Findings on pools with the field names of each KEP edition: only valid pools with the edition's own field names must be accepted.
fn field_name_findings(rules: &DesignRules) -> Vec<Finding> {
    let terms = json!({"nodeSelectorTerms": []});
    let accepted = |edition: Edition, pool: Value| {
        let driver = json!({"metadata": {"name": "d"}, "spec": {}, "status": {"storage": [pool]}});
        usize::from(server::decode(rules, edition, driver).is_ok())
    };
    let (mut right, mut both, mut wrong) = (0, 0, 0);
    for (edition, other) in [
        (Edition::Of2019, Edition::Later),
        (Edition::Later, Edition::Of2019),
    ] {
        let (own, foreign) = (edition.node_list_field(), other.node_list_field());
        right += accepted(edition, json!({"name": "p", "classes": [], own: ["n1", "n2"]}));
        both += accepted(
            edition,
            json!({"name": "p", "classes": [], own: ["n1"], "nodeTopology": terms}),
        );
        wrong += accepted(edition, json!({"name": "p", "classes": [], foreign: ["n1"]}))
            + accepted(edition, json!({"name": "p", "classes": [], own: ["n1", "n1"]}));
    }
    findings![
        none "ALT-05", "pools with both a topology and nodes that are accepted", both;
        count "ALT-06", "accepted lists of nodes in two editions, minus those accepted with the other edition's field name or with a duplicate node",
            right - wrong.min(right), Bound::Exactly(2.0);
    ]
}

fn object_findings(rules: &DesignRules) -> Vec<Finding> {
    let cluster = examples::local();
    let (Ok(Objects::PoolOf2019(pools)), Ok(Objects::StoragePool(later))) = (
        Shape::PoolOf2019.publish(&cluster),
        Shape::StoragePool.publish(&cluster),
    ) else {
        return Vec::new();
    };
    let old = &pools[0];
    let mut moved = old.clone();
    moved.spec.node_list = Some(vec!["node-9".to_owned()]);
    let mut changed = old.clone();
    changed.status.classes[0].capacity = Some("1".to_owned());
    let accepted = |new: &PoolOf2019| usize::from(server::update(rules, old, new).is_ok());
    let namespaced = |pool: &StoragePool| {
        let metadata = Metadata {
            namespace: Some("default".to_owned()),
            ..pool.metadata.clone()
        };
        server::validate_cluster_scoped(&metadata).is_ok()
    };
    let read: Result<PoolOf2019, _> = serde_saphyr::from_str(MALFORMED);
    let is_reported = read.err().is_some_and(|error| {
        let error = error.to_string();
        error.contains("duplicate") && error.contains("status")
    });
    findings![
        none "ALT-27", "accepted changes of a pool's spec, plus rejected changes of its status",
            accepted(&moved) + (1 - accepted(&changed));
        none "ALT-29", "pools in a namespace that are accepted", later.iter().filter(|pool| namespaced(pool)).count();
        count "ALT-41", "parsers that report the duplicate field of a malformed pool",
            usize::from(is_reported), Bound::Exactly(1.0);
        none "ALT-13", "entries that are left once the CSIDriver is deleted", remaining_after_deletion(rules);
    ]
}

fn remaining_after_deletion(rules: &DesignRules) -> usize {
    let cluster = examples::local();
    let mut drivers = vec![driver()];
    if rules.status_is_deleted_with_driver {
        drivers.clear();
    }
    lookup::entries(rules, &Objects::DriverStatus(drivers), &cluster.classes).len()
}

fn gate_findings(rules: &DesignRules) -> Vec<Finding> {
    let fields = |is_on: bool| {
        let stored = server::drop_gated_fields(rules, is_on, driver());
        usize::from(stored.spec.capacity_tracking.is_some()) + usize::from(!stored.status.storage.is_empty())
    };
    findings![
        none "GATE-34", "new fields that are stored while the gate is off", fields(false);
        count "GATE-34", "new fields that are stored while the gate is on", fields(true), Bound::Exactly(2.0);
    ]
}
