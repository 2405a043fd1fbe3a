//! The five API designs, and the conversion of a cluster's storage to the objects of each. The module `lookup` evaluates these objects.

use std::collections::HashSet;

use serde::Serialize;

use super::conversion::{Inexpressible, classes_of, length, selector};
use super::flat;
use super::input_cluster::{HOSTNAME, InputCluster, NodeAccess, Pool, PoolCapacity, VolumeKind};
use super::model::{
    ClassCapacity, CsiDriver, DriverSpec, DriverStatus, EPHEMERAL, EarlyCapacity, EarlySpec, EarlyStatus,
    FALLBACK, FlatCapacity, Metadata, NamedPool, PoolOf2019, PoolSpec, PoolSpecOf2019, PoolStatus,
    PoolStatusOf2019, StoragePool, timestamp,
};
use super::selector::NodeSelector;

/// One of the five API designs, from the earliest to the released one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    DriverStatus,
    PoolOf2019,
    StoragePool,
    EarlyCapacity,
    FlatCapacity,
}

/// All API objects of a cluster in one design.
#[derive(Clone, Debug)]
pub(super) enum Objects {
    DriverStatus(Vec<CsiDriver>),
    PoolOf2019(Vec<PoolOf2019>),
    StoragePool(Vec<StoragePool>),
    EarlyCapacity(Vec<EarlyCapacity>),
    FlatCapacity(Vec<FlatCapacity>),
}

impl Shape {
    pub(super) const ALL: [Self; 5] = [
        Self::DriverStatus,
        Self::PoolOf2019,
        Self::StoragePool,
        Self::EarlyCapacity,
        Self::FlatCapacity,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::DriverStatus => "CSIDriver.status",
            Self::PoolOf2019 => "CSIStoragePool of 2019",
            Self::StoragePool => "CSIStoragePool",
            Self::EarlyCapacity => "CSIStorageCapacity, spec and status",
            Self::FlatCapacity => "CSIStorageCapacity, flat",
        }
    }

    /// Whether one object of the design contains the capacity for several StorageClasses.
    pub(super) fn has_pools(self) -> bool {
        !matches!(self, Self::EarlyCapacity | Self::FlatCapacity)
    }

    /// Converts the storage of a cluster to API objects. Fails if the design cannot express the storage.
    pub(super) fn publish(self, cluster: &InputCluster) -> Result<Objects, Inexpressible> {
        self.check(cluster)?;
        let pools = || cluster.pools.iter().enumerate();
        Ok(match self {
            Self::DriverStatus => Objects::DriverStatus(driver_status(cluster)),
            Self::PoolOf2019 => {
                Objects::PoolOf2019(pools().map(|(number, pool)| pool_of_2019(number, pool)).collect())
            }
            Self::StoragePool => Objects::StoragePool(
                pools()
                    .map(|(number, pool)| storage_pool(number, pool, cluster))
                    .collect(),
            ),
            Self::EarlyCapacity => Objects::EarlyCapacity(early_capacities(cluster)),
            Self::FlatCapacity => Objects::FlatCapacity(flat::publish(cluster)?),
        })
    }

    fn check(self, cluster: &InputCluster) -> Result<(), Inexpressible> {
        let mut capacities = cluster.pools.iter().flat_map(|pool| &pool.capacities);
        let inexpressible = |capacity: &PoolCapacity| match capacity {
            PoolCapacity { until: Some(_), .. } if self != Self::DriverStatus => Some(Inexpressible::Expiry),
            PoolCapacity { total: Some(_), .. } if self != Self::FlatCapacity => {
                Some(Inexpressible::TwoCapacityFields)
            }
            PoolCapacity {
                of: VolumeKind::Inline,
                ..
            } if !matches!(self, Self::DriverStatus | Self::PoolOf2019) => Some(Inexpressible::Inline),
            _ => None,
        };
        let inexpressible = capacities.find_map(inexpressible);
        // Two pools with the same spec are duplicates in the 2019 pool design: only the spec distinguishes pools.
        let are_duplicates = self == Self::PoolOf2019 && has_duplicates(&cluster.pools);
        match inexpressible.or(are_duplicates.then_some(Inexpressible::Duplicates)) {
            Some(inexpressible) => Err(inexpressible),
            None => Ok(()),
        }
    }
}

fn has_duplicates(pools: &[Pool]) -> bool {
    let specs = pools.iter().map(|pool| (&pool.driver, &pool.node_access));
    specs.collect::<HashSet<_>>().len() < pools.len()
}

impl Objects {
    /// Size of each API object, in bytes of JSON.
    pub(super) fn bytes(&self) -> Vec<usize> {
        match self {
            Self::DriverStatus(objects) => lengths(objects),
            Self::PoolOf2019(objects) => lengths(objects),
            Self::StoragePool(objects) => lengths(objects),
            Self::EarlyCapacity(objects) => lengths(objects),
            Self::FlatCapacity(objects) => lengths(objects),
        }
    }
}

fn lengths<T: Serialize>(objects: &[T]) -> Vec<usize> {
    objects.iter().map(length).collect()
}

fn driver_status(cluster: &InputCluster) -> Vec<CsiDriver> {
    let pool = |pool: &Pool| {
        let (node_topology, node_list) = topology_or_node_list(&pool.node_access);
        NamedPool {
            name: pool.name.clone(),
            node_topology,
            node_list,
            classes: pool.capacities.iter().map(class_capacity).collect(),
        }
    };
    let drivers = cluster.drivers.iter().map(|driver| {
        let of_driver = cluster.pools.iter().filter(|pool| pool.driver == driver.name);
        CsiDriver {
            metadata: Metadata::named(&driver.name),
            spec: DriverSpec {
                pod_info_on_mount: Some(true),
                capacity_tracking: driver.tracks,
            },
            status: DriverStatus {
                storage: of_driver.map(pool).collect(),
            },
        }
    });
    drivers.collect()
}

fn pool_of_2019(number: usize, pool: &Pool) -> PoolOf2019 {
    let (node_topology, node_list) = topology_or_node_list(&pool.node_access);
    PoolOf2019 {
        metadata: Metadata::stored("sp", number, None),
        spec: PoolSpecOf2019 {
            driver_name: pool.driver.clone(),
            node_topology,
            node_list,
        },
        status: PoolStatusOf2019 {
            classes: pool.capacities.iter().map(class_capacity).collect(),
        },
    }
}

fn storage_pool(number: usize, pool: &Pool, cluster: &InputCluster) -> StoragePool {
    let capacities = pool.capacities.iter();
    let classes = capacities.flat_map(|capacity| {
        let classes = classes_of(cluster, pool, capacity).into_iter();
        classes.map(|class| named_class_capacity(class, capacity))
    });
    StoragePool {
        metadata: Metadata::stored("sp", number, None),
        spec: PoolSpec {
            driver_name: pool.driver.clone(),
        },
        status: PoolStatus {
            node_topology: selector(&pool.node_access),
            classes: classes.collect(),
        },
    }
}

fn early_capacities(cluster: &InputCluster) -> Vec<EarlyCapacity> {
    let mut objects = Vec::new();
    for pool in &cluster.pools {
        for capacity in &pool.capacities {
            for class in classes_of(cluster, pool, capacity) {
                let number = objects.len();
                objects.push(EarlyCapacity {
                    metadata: Metadata::stored("csisc", number, Some("default")),
                    spec: EarlySpec {
                        driver_name: pool.driver.clone(),
                        storage_class_name: class.to_owned(),
                        // In the early design, an empty topology matches no node, so the topology selects all nodes by host name.
                        node_topology: selector(&pool.node_access).or_else(all_nodes),
                    },
                    status: EarlyStatus {
                        available_capacity: Some(capacity.bytes.to_string()),
                    },
                });
            }
        }
    }
    objects
}

fn all_nodes() -> Option<NodeSelector> {
    Some(NodeSelector::of(HOSTNAME, "Exists", &[]))
}

fn class_capacity(capacity: &PoolCapacity) -> ClassCapacity {
    let name = match &capacity.of {
        VolumeKind::Class(name) => name,
        VolumeKind::Inline => EPHEMERAL,
        VolumeKind::Fallback => FALLBACK,
    };
    named_class_capacity(name, capacity)
}

fn named_class_capacity(name: &str, capacity: &PoolCapacity) -> ClassCapacity {
    ClassCapacity {
        storage_class_name: name.to_owned(),
        capacity: Some(capacity.bytes.to_string()),
        expiry_time: capacity.until.map(timestamp),
    }
}

/// The topology or the node list that gives the nodes access to a pool; neither if the whole cluster has access.
fn topology_or_node_list(node_access: &NodeAccess) -> (Option<NodeSelector>, Option<Vec<String>>) {
    match node_access {
        NodeAccess::Cluster => (None, None),
        NodeAccess::Nodes(names) => (None, Some(names.iter().cloned().collect())),
        NodeAccess::Terms(selector) => (Some(selector.clone()), None),
    }
}
