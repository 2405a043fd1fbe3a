//! Publishing in the 2019 design, with one publisher per node or with a central publisher in several settings.

use std::collections::BTreeSet;

use super::input_cluster::{Class, Driver, InputCluster, Node, VolumeRequest};
use super::lookup;
use super::model::{CsiDriver, EPHEMERAL, Metadata};
use super::publisher::{Central, Event, Mode, Published, Request, count_calls, publish};
use super::rules::DesignRules;
use super::shape::Objects;
use crate::study::result::{Bound, Finding, findings};

const DRIVER: &str = "example.com";
const ZONE: &str = "example.com/zone";
const RACK: &str = "example.com/rack";
const CLASSES: [&str; 3] = ["fast", "slow", "cold"];
/// Initial free bytes of the storage of each rack.
const FREE: u64 = 10;

/// Settings of the central publisher in most experiments.
const CENTRAL: Central<'static> = Central {
    prefix: Some("example.com/"),
    ephemeral: false,
    is_local: false,
    ignores_parameters: false,
};

pub(super) fn findings(rules: &DesignRules) -> Vec<Finding> {
    let mut findings = per_node_findings(rules);
    findings.extend(segment_findings(rules));
    findings.extend(hint_findings(rules));
    findings.push(trigger_finding(rules));
    findings
}

/// Four nodes in two racks of one zone, and a node that has only the label of another driver.
fn cluster() -> InputCluster {
    let node =
        |name: &str, rack: &str| Node::new(name, &[(ZONE, "z"), (RACK, rack), ("other.com/row", name)]);
    let class = |name: &str| Class {
        name: name.to_owned(),
        driver: DRIVER.to_owned(),
    };
    InputCluster {
        nodes: vec![
            node("n1", "r1"),
            node("n2", "r1"),
            node("n3", "r2"),
            node("n4", "r2"),
            Node::new("n5", &[("other.com/row", "n5")]),
        ],
        drivers: vec![Driver {
            name: DRIVER.to_owned(),
            tracks: Some(true),
        }],
        classes: CLASSES.map(class).into(),
        ..InputCluster::default()
    }
}

fn publish_once(rules: &DesignRules, mode: Mode<'_>, cluster: &InputCluster, free: u64) -> Published {
    let classes: Vec<&str> = cluster.classes.iter().map(|class| class.name.as_str()).collect();
    publish(rules, mode, &cluster.nodes, &classes, &|_, _| free)
}

fn entries_of(driver: &CsiDriver) -> usize {
    driver.status.storage.iter().map(|pool| pool.classes.len()).sum()
}

fn per_node_findings(rules: &DesignRules) -> Vec<Finding> {
    let cluster = cluster();
    let published = publish_once(rules, Mode::InlineOnly, &cluster, FREE);
    let pools = &published.driver.status.storage;
    let own = pools
        .iter()
        .filter(|pool| pool.node_list.as_deref() == Some(std::slice::from_ref(&pool.name)));
    let empty = Request::default();
    findings![
        count "ALT-14", "pools with exactly one node, of five publishers that share a status",
            own.count(), Bound::Exactly(cluster.nodes.len() as f64);
        none "ALT-15", "non-empty requests of five publishers that share a status",
            published.requests.iter().filter(|request| **request != empty).count();
    ]
}

fn segment_findings(rules: &DesignRules) -> Vec<Finding> {
    let cluster = cluster();
    let without = Central {
        prefix: None,
        ..CENTRAL
    };
    let ephemeral = Central {
        ephemeral: true,
        ..CENTRAL
    };
    let published = |central| publish_once(rules, Mode::Central(central), &cluster, FREE);
    let (none, plain, more) = (published(without), published(CENTRAL), published(ephemeral));
    let distinct: BTreeSet<_> = plain.requests.iter().map(|request| &request.topology).collect();
    let foreign = |request: &&Request| {
        let keys = request.topology.iter().flat_map(|topology| topology.keys());
        keys.into_iter().any(|key| !key.starts_with("example.com/"))
    };
    let inline = more
        .driver
        .status
        .storage
        .iter()
        .flat_map(|pool| &pool.classes)
        .filter(|class| class.storage_class_name == EPHEMERAL);
    findings![
        none "ALT-17", "pools and requests of a central publisher without a prefix",
            none.requests.len() + none.driver.status.storage.len();
        count "ALT-18", "pools for four nodes in two racks and one without a label of the driver",
            plain.driver.status.storage.len(), Bound::Exactly(2.0);
        none "ALT-18", "requests that are repeated, or that have a label of another driver",
            count_calls(&plain.requests).values().filter(|times| **times > 1).count() + plain.requests.iter().filter(foreign).count() + distinct.len().abs_diff(2);
        count "ALT-19", "entries for inline volumes if the publisher is configured to publish inline volumes",
            inline.count(), Bound::Exactly(plain.driver.status.storage.len().max(1) as f64);
    ]
}

/// Number of decisions on claims of every class that differ between two CSIDriver statuses.
fn differences(rules: &DesignRules, cluster: &InputCluster, left: &CsiDriver, right: &CsiDriver) -> usize {
    let named = |driver: &CsiDriver| {
        let driver = CsiDriver {
            metadata: Metadata::named(DRIVER),
            ..driver.clone()
        };
        lookup::entries(rules, &Objects::DriverStatus(vec![driver]), &cluster.classes)
    };
    let (left, right) = (named(left), named(right));
    let sizes = [FREE - 1, FREE, FREE + 1];
    let volume_requests = cluster
        .classes
        .iter()
        .flat_map(|class| sizes.map(|bytes| VolumeRequest::new(DRIVER, Some(&class.name), bytes)));
    let differs = |volume_request: &VolumeRequest| {
        let feasible_nodes = |entries| lookup::feasible_nodes(rules, cluster, entries, volume_request);
        feasible_nodes(&left) != feasible_nodes(&right)
    };
    volume_requests.filter(differs).count()
}

fn hint_findings(rules: &DesignRules) -> Vec<Finding> {
    // Storage is local, so each node gets its own segment.
    let mut cluster = cluster();
    cluster.nodes.pop();
    for node in &mut cluster.nodes {
        node.labels.insert(RACK.to_owned(), node.name.clone());
    }
    let published = |is_local, ignores_parameters| {
        let central = Central {
            is_local,
            ignores_parameters,
            ..CENTRAL
        };
        publish_once(rules, Mode::Central(central), &cluster, FREE)
    };
    let plain = published(false, false);
    let (local, alike) = (published(true, false), published(false, true));
    let differ = |other: &Published| differences(rules, &cluster, &plain.driver, &other.driver);
    let changed = [&local, &alike]
        .into_iter()
        .filter(|other| other.driver.status != plain.driver.status);
    findings![
        count "ALT-20", "settings, of local storage and ignored parameters, that change the published objects", changed.count(), Bound::Exactly(2.0);
        none "ALT-20", "decisions that the settings for local storage and ignored parameters change", differ(&local) + differ(&alike);
        new "ALT-39", "ratio of entries and requests: for three classes, to one entry for all",
            (entries_of(&plain.driver) + plain.requests.len()) as f64 / (entries_of(&alike.driver) + alike.requests.len()) as f64, Bound::Exactly(CLASSES.len() as f64);
        none "ALT-39", "decisions that differ with one entry for all classes", differ(&alike);
    ]
}

/// Compares published capacity with true capacity after each event.
fn trigger_finding(rules: &DesignRules) -> Finding {
    let mut cluster = cluster();
    let mut free = FREE;
    let mode = Mode::Central(CENTRAL);
    let mut published = publish_once(rules, mode, &cluster, free);
    let mut wrong = 0;
    for event in Event::ALL {
        match event {
            Event::NodeAdded => cluster.nodes.push(Node::new("n6", &[(ZONE, "z"), (RACK, "r3")])),
            Event::ClassAdded => cluster.classes.push(Class {
                name: "new".to_owned(),
                driver: DRIVER.to_owned(),
            }),
            Event::VolumeCreated => free -= 1,
            Event::VolumeDeleted => free += 1,
            Event::StorageChanged => free += 5,
            Event::TimePassed => {}
        }
        if event.triggers_calls(rules) {
            published = publish_once(rules, mode, &cluster, free);
        }
        let now = publish_once(rules, mode, &cluster, free);
        let is_stale = published.driver.status != now.driver.status;
        // Only polling detects a storage change for which there is no event.
        wrong += usize::from(is_stale != (event == Event::StorageChanged));
    }
    Finding::none(
        "ALT-21",
        "events with an unexpected result: stale capacity, or current capacity after a change that only polling detects",
        wrong,
    )
}
