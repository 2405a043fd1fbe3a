//! Helpers for converting the storage of a cluster to API objects: selectors, the classes of an entry, and what a design cannot express.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::input_cluster::{Class, HOSTNAME, InputCluster, NodeAccess, Pool, PoolCapacity, VolumeKind};
use super::selector::NodeSelector;

/// A property of a cluster's storage that a design cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inexpressible {
    Inline,
    Expiry,
    TwoCapacityFields,
    Ordering,
    Duplicates,
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inline => "inline volumes",
            Self::Expiry => "an expiry time",
            Self::TwoCapacityFields => "both capacity and maximum volume size",
            Self::Ordering => "numeric comparison of labels",
            Self::Duplicates => "two pools for the same nodes",
        })
    }
}

/// Size of an API object in bytes of JSON. All types of the designs can be serialized.
pub(super) fn length<T: Serialize>(object: &T) -> usize {
    serde_json::to_vec(object).map_or(0, |text| text.len())
}

/// The classes to which a capacity of the pool applies. A fallback capacity applies to all classes that have no capacity in the pool.
pub(super) fn classes_of<'w>(
    cluster: &'w InputCluster,
    pool: &'w Pool,
    capacity: &'w PoolCapacity,
) -> Vec<&'w str> {
    let of_driver = |class: &&Class| class.driver == pool.driver;
    let is_named = |class: &Class| {
        let mut capacities = pool.capacities.iter();
        capacities.any(|capacity| capacity.of == VolumeKind::class(&class.name))
    };
    match &capacity.of {
        VolumeKind::Class(name) => vec![name],
        VolumeKind::Inline => Vec::new(),
        VolumeKind::Fallback => {
            let classes = cluster.classes.iter().filter(of_driver);
            classes
                .filter(|class| !is_named(class))
                .map(|class| class.name.as_str())
                .collect()
        }
    }
}

/// The node selector of a pool, by host name if the pool lists nodes; `None` if the whole cluster has access.
pub(super) fn selector(node_access: &NodeAccess) -> Option<NodeSelector> {
    match node_access {
        NodeAccess::Cluster => None,
        NodeAccess::Nodes(names) => Some(by_hostname(names)),
        NodeAccess::Terms(selector) => Some(selector.clone()),
    }
}

pub(super) fn by_hostname(names: &BTreeSet<String>) -> NodeSelector {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    NodeSelector::of(HOSTNAME, "In", &names)
}
