//! How a scheduler evaluates each design: it reads the capacity entries of all objects, and finds the nodes to which a sufficient entry
//! applies.

use std::collections::{BTreeMap, BTreeSet};

use super::input_cluster::{Class, InputCluster, Node, VolumeKind, VolumeRequest};
use super::model::{
    ClassCapacity, EPHEMERAL, EarlyCapacity, FALLBACK, FlatCapacity, LabelTopology, PoolOf2019, timestamp,
};
use super::rules::{DesignRules, Expiry, Fallback};
use super::selector::{NodeSelector, Term};
use super::shape::Objects;

/// A capacity in an API object of a design, with the volumes and nodes to which it applies.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Number of the pool or object to which the entry belongs. At most one entry per group applies to a volume.
    group: usize,
    driver: String,
    of: VolumeKind,
    access: Access,
    bytes: Option<u64>,
    until: Option<String>,
}

/// The nodes to which an entry applies.
#[derive(Clone, Debug)]
enum Access {
    All,
    NoNodes,
    Names(Vec<String>),
    Terms(NodeSelector),
}

/// The nodes on which the volume fits according to the capacity objects. Uses nodes, classes and drivers of the cluster, but not the true
/// storage.
pub(super) fn feasible_nodes<'w>(
    rules: &DesignRules,
    cluster: &'w InputCluster,
    entries: &[Entry],
    volume_request: &VolumeRequest,
) -> BTreeSet<&'w str> {
    let chosen = applicable_entries(rules, cluster, entries, volume_request);
    let unchecked = !tracks(rules, cluster, volume_request)
        || (volume_request.class.is_none() && !rules.inline_is_checked);
    let admits = |node: &&Node| unchecked || chosen.iter().any(|entry| entry.access.admits(node));
    let nodes = cluster.nodes.iter().filter(admits);
    nodes.map(|node| node.name.as_str()).collect()
}

fn tracks(rules: &DesignRules, cluster: &InputCluster, volume_request: &VolumeRequest) -> bool {
    let found = cluster.drivers.iter().find(|it| it.name == volume_request.driver);
    found.is_some_and(|driver| driver.tracks.unwrap_or(rules.unset_means_tracked))
}

/// The applicable entry of each group, without entries that are too small for the volume.
fn applicable_entries<'e>(
    rules: &DesignRules,
    cluster: &InputCluster,
    entries: &'e [Entry],
    volume_request: &VolumeRequest,
) -> Vec<&'e Entry> {
    let now = timestamp(cluster.now);
    let is_valid = |entry: &Entry| match (&entry.until, rules.expiry) {
        (Some(until), Expiry::AtExpiryTime) => now < *until,
        (Some(until), Expiry::AfterExpiryTime) => now <= *until,
        _ => true,
    };
    let mut groups: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let of_driver = !rules.driver_must_match || entry.driver == volume_request.driver;
        if of_driver && is_valid(entry) {
            groups.entry(entry.group).or_default().push(entry);
        }
    }
    let has_room = |entry: &&Entry| entry.bytes.is_some_and(|bytes| bytes >= volume_request.bytes);
    let groups = groups.values();
    groups
        .filter_map(|group| applicable_in_group(rules, group, volume_request))
        .filter(has_room)
        .collect()
}

fn applicable_in_group<'e>(
    rules: &DesignRules,
    group: &[&'e Entry],
    volume_request: &VolumeRequest,
) -> Option<&'e Entry> {
    let of = |of: &VolumeKind| group.iter().copied().find(|entry| entry.of == *of);
    let own = of(&volume_request.requested_kind());
    let serves = volume_request.class.is_some() || rules.fallback_serves_inline;
    let fallback = of(&VolumeKind::Fallback).filter(|_| serves);
    match rules.fallback {
        Fallback::WithoutEntry => own.or(fallback),
        Fallback::Never => own,
        Fallback::First => fallback.or(own),
    }
}

pub(super) fn entries(rules: &DesignRules, objects: &Objects, classes: &[Class]) -> Vec<Entry> {
    match objects {
        Objects::DriverStatus(drivers) => {
            let pools = drivers.iter().flat_map(|driver| {
                let pools = driver.status.storage.iter();
                pools.map(|pool| (&driver.metadata.name, pool))
            });
            let pools = pools.map(|(driver, pool)| {
                let access = pool_access(rules, pool.node_topology.as_ref(), pool.node_list.as_ref());
                (driver.as_str(), access, pool.classes.as_slice())
            });
            entries_of_pools(pools)
        }
        Objects::PoolOf2019(pools) => entries_of_pools(newest_pools(rules, pools).into_iter().map(|pool| {
            let spec = &pool.spec;
            let access = pool_access(rules, spec.node_topology.as_ref(), spec.node_list.as_ref());
            (spec.driver_name.as_str(), access, pool.status.classes.as_slice())
        })),
        Objects::StoragePool(pools) => entries_of_pools(pools.iter().map(|pool| {
            let access = pool_access(rules, pool.status.node_topology.as_ref(), None);
            (
                pool.spec.driver_name.as_str(),
                access,
                pool.status.classes.as_slice(),
            )
        })),
        Objects::EarlyCapacity(objects) => {
            let entry = |(group, object): (usize, &EarlyCapacity)| Entry {
                group,
                driver: object.spec.driver_name.clone(),
                of: VolumeKind::class(&object.spec.storage_class_name),
                access: object
                    .spec
                    .node_topology
                    .clone()
                    .map_or(Access::NoNodes, Access::Terms),
                bytes: parse_number(object.status.available_capacity.as_ref()),
                until: None,
            };
            objects.iter().enumerate().map(entry).collect()
        }
        Objects::FlatCapacity(objects) => {
            let entry = |(group, object): (usize, &FlatCapacity)| {
                let class = classes.iter().find(|it| it.name == object.storage_class_name)?;
                let limit = object.maximum_volume_size.as_ref().or(object.capacity.as_ref());
                Some(Entry {
                    group,
                    driver: class.driver.clone(),
                    of: VolumeKind::class(&class.name),
                    access: object
                        .node_topology
                        .as_ref()
                        .map_or(Access::NoNodes, label_access),
                    bytes: parse_number(limit),
                    until: None,
                })
            };
            objects.iter().enumerate().filter_map(entry).collect()
        }
    }
}

/// For each spec, the newest pool with this spec, or the oldest pool if the rule `newest_applies` is off.
fn newest_pools<'p>(rules: &DesignRules, pools: &'p [PoolOf2019]) -> Vec<&'p PoolOf2019> {
    let mut newest_pools: Vec<&PoolOf2019> = Vec::new();
    for pool in pools {
        let same = newest_pools.iter_mut().find(|other| other.spec == pool.spec);
        let made = |pool: &PoolOf2019| pool.metadata.creation_timestamp.clone();
        match same {
            None => newest_pools.push(pool),
            Some(other) if (made(pool) > made(other)) == rules.newest_applies => *other = pool,
            Some(_) => {}
        }
    }
    newest_pools
}

fn entries_of_pools<'p>(pools: impl Iterator<Item = (&'p str, Access, &'p [ClassCapacity])>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (group, (driver, access, classes)) in pools.enumerate() {
        for class in classes {
            entries.push(Entry {
                group,
                driver: driver.to_owned(),
                of: volume_kind(&class.storage_class_name),
                access: access.clone(),
                bytes: parse_number(class.capacity.as_ref()),
                until: class.expiry_time.clone(),
            });
        }
    }
    entries
}

fn volume_kind(name: &str) -> VolumeKind {
    match name {
        FALLBACK => VolumeKind::Fallback,
        EPHEMERAL => VolumeKind::Inline,
        class => VolumeKind::class(class),
    }
}

fn parse_number(text: Option<&String>) -> Option<u64> {
    text.and_then(|text| text.parse().ok())
}

fn pool_access(rules: &DesignRules, topology: Option<&NodeSelector>, names: Option<&Vec<String>>) -> Access {
    match (topology, names) {
        (Some(selector), _) => Access::Terms(selector.clone()),
        (None, Some(names)) => Access::Names(names.clone()),
        (None, None) if rules.pool_without_nodes_is_for_all => Access::All,
        (None, None) => Access::NoNodes,
    }
}

/// Converts a label selector to a node selector term. A selector without expressions matches every node.
fn label_access(topology: &LabelTopology) -> Access {
    let mut term = Term {
        match_expressions: topology.match_expressions.clone(),
    };
    for (key, value) in &topology.match_labels {
        term.match_expressions
            .extend(Term::of(key, "In", &[value]).match_expressions);
    }
    match term.match_expressions.is_empty() {
        true => Access::All,
        false => Access::Terms(NodeSelector {
            node_selector_terms: vec![term],
        }),
    }
}

impl Access {
    fn admits(&self, node: &Node) -> bool {
        match self {
            Self::All => true,
            Self::NoNodes => false,
            Self::Names(names) => names.contains(&node.name),
            Self::Terms(selector) => selector.matches(&node.labels),
        }
    }
}
