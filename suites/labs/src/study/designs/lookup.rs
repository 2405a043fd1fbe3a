//! How a scheduler evaluates each design: from objects to entries, and from entries to nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::documents::{Documents, Expiry, Fallback};
use super::model::{
    ByClass, EPHEMERAL, EarlyCapacity, FALLBACK, FlatCapacity, LabelTopology, PoolOf2019, moment,
};
use super::selector::{NodeSelector, Term};
use super::shape::Objects;
use super::world::{Class, Node, Of, Question, World};

/// A capacity from an object.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Entries of the same pool or object have the same group.
    group: usize,
    driver: String,
    of: Of,
    access: Access,
    bytes: Option<u64>,
    until: Option<String>,
}

/// The nodes that an entry applies to.
#[derive(Clone, Debug)]
enum Access {
    All,
    Nobody,
    Names(Vec<String>),
    Terms(NodeSelector),
}

/// The nodes that the objects accept for the volume. Uses nodes, classes and drivers of the cluster, but not its true storage.
pub(super) fn reached<'w>(
    documents: &Documents,
    world: &'w World,
    entries: &[Entry],
    question: &Question,
) -> BTreeSet<&'w str> {
    let chosen = chosen(documents, world, entries, question);
    let unchecked =
        !tracks(documents, world, question) || (question.class.is_none() && !documents.inline_is_checked);
    let admits = |node: &&Node| unchecked || chosen.iter().any(|entry| entry.access.admits(node));
    let nodes = world.nodes.iter().filter(admits);
    nodes.map(|node| node.name.as_str()).collect()
}

fn tracks(documents: &Documents, world: &World, question: &Question) -> bool {
    let found = world.drivers.iter().find(|it| it.name == question.driver);
    found.is_some_and(|driver| driver.tracks.unwrap_or(documents.unset_tracks))
}

/// The entry of each group that applies to the volume, if it has enough capacity.
fn chosen<'e>(
    documents: &Documents,
    world: &World,
    entries: &'e [Entry],
    question: &Question,
) -> Vec<&'e Entry> {
    let now = moment(world.now);
    let is_valid = |entry: &Entry| match (&entry.until, documents.expiry) {
        (Some(until), Expiry::FromThen) => now < *until,
        (Some(until), Expiry::AfterThen) => now <= *until,
        _ => true,
    };
    let mut groups: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let of_driver = !documents.driver_must_match || entry.driver == question.driver;
        if of_driver && is_valid(entry) {
            groups.entry(entry.group).or_default().push(entry);
        }
    }
    let has_room = |entry: &&Entry| entry.bytes.is_some_and(|bytes| bytes >= question.bytes);
    let groups = groups.values();
    groups
        .filter_map(|group| of_group(documents, group, question))
        .filter(has_room)
        .collect()
}

fn of_group<'e>(documents: &Documents, group: &[&'e Entry], question: &Question) -> Option<&'e Entry> {
    let of = |of: &Of| group.iter().copied().find(|entry| entry.of == *of);
    let own = of(&question.of());
    let serves = question.class.is_some() || documents.fallback_serves_inline;
    let others = of(&Of::Others).filter(|_| serves);
    match documents.fallback {
        Fallback::WithoutEntry => own.or(others),
        Fallback::Never => own,
        Fallback::First => others.or(own),
    }
}

/// The entries of the objects.
pub(super) fn entries(documents: &Documents, objects: &Objects, classes: &[Class]) -> Vec<Entry> {
    match objects {
        Objects::DriverStatus(drivers) => {
            let pools = drivers.iter().flat_map(|driver| {
                let pools = driver.status.storage.iter();
                pools.map(|pool| (&driver.metadata.name, pool))
            });
            let pools = pools.map(|(driver, pool)| {
                let access = pool_access(documents, pool.node_topology.as_ref(), pool.node_list.as_ref());
                (driver.as_str(), access, pool.classes.as_slice())
            });
            of_pools(pools)
        }
        Objects::PoolOf2019(pools) => of_pools(counting(documents, pools).into_iter().map(|pool| {
            let spec = &pool.spec;
            let access = pool_access(documents, spec.node_topology.as_ref(), spec.node_list.as_ref());
            (spec.driver_name.as_str(), access, pool.status.classes.as_slice())
        })),
        Objects::StoragePool(pools) => of_pools(pools.iter().map(|pool| {
            let access = pool_access(documents, pool.status.node_topology.as_ref(), None);
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
                of: Of::class(&object.spec.storage_class_name),
                access: object
                    .spec
                    .node_topology
                    .clone()
                    .map_or(Access::Nobody, Access::Terms),
                bytes: number(object.status.available_capacity.as_ref()),
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
                    of: Of::class(&class.name),
                    access: object.node_topology.as_ref().map_or(Access::Nobody, label_access),
                    bytes: number(limit),
                    until: None,
                })
            };
            objects.iter().enumerate().filter_map(entry).collect()
        }
    }
}

/// Removes older pools with the same spec.
fn counting<'p>(documents: &Documents, pools: &'p [PoolOf2019]) -> Vec<&'p PoolOf2019> {
    let mut counting: Vec<&PoolOf2019> = Vec::new();
    for pool in pools {
        let same = counting.iter_mut().find(|other| other.spec == pool.spec);
        let made = |pool: &PoolOf2019| pool.metadata.creation_timestamp.clone();
        match same {
            None => counting.push(pool),
            Some(other) if (made(pool) > made(other)) == documents.newest_counts => *other = pool,
            Some(_) => {}
        }
    }
    counting
}

fn of_pools<'p>(pools: impl Iterator<Item = (&'p str, Access, &'p [ByClass])>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (group, (driver, access, classes)) in pools.enumerate() {
        for class in classes {
            entries.push(Entry {
                group,
                driver: driver.to_owned(),
                of: of_name(&class.storage_class_name),
                access: access.clone(),
                bytes: number(class.capacity.as_ref()),
                until: class.expiry_time.clone(),
            });
        }
    }
    entries
}

fn of_name(name: &str) -> Of {
    match name {
        FALLBACK => Of::Others,
        EPHEMERAL => Of::Inline,
        class => Of::class(class),
    }
}

fn number(text: Option<&String>) -> Option<u64> {
    text.and_then(|text| text.parse().ok())
}

fn pool_access(
    documents: &Documents,
    topology: Option<&NodeSelector>,
    names: Option<&Vec<String>>,
) -> Access {
    match (topology, names) {
        (Some(selector), _) => Access::Terms(selector.clone()),
        (None, Some(names)) => Access::Names(names.clone()),
        (None, None) if documents.pool_without_nodes_is_for_all => Access::All,
        (None, None) => Access::Nobody,
    }
}

/// Converts a label selector to a node selector term; without expressions it matches every node.
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
            Self::Nobody => false,
            Self::Names(names) => names.contains(&node.name),
            Self::Terms(selector) => selector.matches(&node.labels),
        }
    }
}
