//! The five designs, and the conversion of a cluster's storage to the objects of each. Does not know how objects are evaluated.

use std::collections::HashSet;

use serde::Serialize;

use super::flat;
use super::model::{
    ByClass, Classes, CsiDriver, DriverSpec, DriverStatus, EPHEMERAL, EarlyCapacity, EarlySpec, EarlyStatus,
    FALLBACK, FlatCapacity, Metadata, NamedPool, PoolOf2019, PoolSpec, PoolSpecOf2019, PoolStatus,
    StoragePool, moment,
};
use super::selector::NodeSelector;
use super::words::{Unsayable, classes_of, length, selector};
use super::world::{Figure, HOSTNAME, Of, Pool, Reach, World};

/// A design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    DriverStatus,
    PoolOf2019,
    StoragePool,
    EarlyCapacity,
    FlatCapacity,
}

/// All objects of a cluster in one design.
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

    /// Name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::DriverStatus => "CSIDriver.status",
            Self::PoolOf2019 => "CSIStoragePool of 2019",
            Self::StoragePool => "CSIStoragePool",
            Self::EarlyCapacity => "CSIStorageCapacity, spec and status",
            Self::FlatCapacity => "CSIStorageCapacity, flat",
        }
    }

    /// Whether classes share an object.
    pub(super) fn has_pools(self) -> bool {
        !matches!(self, Self::EarlyCapacity | Self::FlatCapacity)
    }

    /// The objects of a cluster; fails if the design cannot express it.
    pub(super) fn publish(self, world: &World) -> Result<Objects, Unsayable> {
        self.check(world)?;
        let pools = || world.pools.iter().enumerate();
        Ok(match self {
            Self::DriverStatus => Objects::DriverStatus(driver_status(world)),
            Self::PoolOf2019 => {
                Objects::PoolOf2019(pools().map(|(number, pool)| pool_of_2019(number, pool)).collect())
            }
            Self::StoragePool => Objects::StoragePool(
                pools()
                    .map(|(number, pool)| storage_pool(number, pool, world))
                    .collect(),
            ),
            Self::EarlyCapacity => Objects::EarlyCapacity(early(world)),
            Self::FlatCapacity => Objects::FlatCapacity(flat::publish(world)?),
        })
    }

    fn check(self, world: &World) -> Result<(), Unsayable> {
        let mut figures = world.pools.iter().flat_map(|pool| &pool.figures);
        let unsayable = |figure: &Figure| match figure {
            Figure { until: Some(_), .. } if self != Self::DriverStatus => Some(Unsayable::Expiry),
            Figure { total: Some(_), .. } if self != Self::FlatCapacity => Some(Unsayable::TwoFigures),
            Figure { of: Of::Inline, .. } if !matches!(self, Self::DriverStatus | Self::PoolOf2019) => {
                Some(Unsayable::Inline)
            }
            _ => None,
        };
        let unsayable = figures.find_map(unsayable);
        // In that design only the spec distinguishes pools.
        let are_twins = self == Self::PoolOf2019 && has_twins(&world.pools);
        match unsayable.or(are_twins.then_some(Unsayable::Twins)) {
            Some(unsayable) => Err(unsayable),
            None => Ok(()),
        }
    }
}

fn has_twins(pools: &[Pool]) -> bool {
    let specs = pools.iter().map(|pool| (&pool.driver, &pool.reach));
    specs.collect::<HashSet<_>>().len() < pools.len()
}

impl Objects {
    /// Size of each object, in bytes of JSON.
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

fn driver_status(world: &World) -> Vec<CsiDriver> {
    let pool = |pool: &Pool| {
        let (node_topology, node_list) = split(&pool.reach);
        NamedPool {
            name: pool.name.clone(),
            node_topology,
            node_list,
            classes: pool.figures.iter().map(by_name).collect(),
        }
    };
    let drivers = world.drivers.iter().map(|driver| {
        let of_driver = world.pools.iter().filter(|pool| pool.driver == driver.name);
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
    let (node_topology, node_list) = split(&pool.reach);
    PoolOf2019 {
        metadata: Metadata::stored("sp", number, None),
        spec: PoolSpecOf2019 {
            driver_name: pool.driver.clone(),
            node_topology,
            node_list,
        },
        status: Classes {
            classes: pool.figures.iter().map(by_name).collect(),
        },
    }
}

fn storage_pool(number: usize, pool: &Pool, world: &World) -> StoragePool {
    let figures = pool.figures.iter();
    let classes = figures.flat_map(|figure| {
        let classes = classes_of(world, pool, figure).into_iter();
        classes.map(|class| by_class(class, figure))
    });
    StoragePool {
        metadata: Metadata::stored("sp", number, None),
        spec: PoolSpec {
            driver_name: pool.driver.clone(),
        },
        status: PoolStatus {
            node_topology: selector(&pool.reach),
            classes: classes.collect(),
        },
    }
}

fn early(world: &World) -> Vec<EarlyCapacity> {
    let mut objects = Vec::new();
    for pool in &world.pools {
        for figure in &pool.figures {
            for class in classes_of(world, pool, figure) {
                let number = objects.len();
                objects.push(EarlyCapacity {
                    metadata: Metadata::stored("csisc", number, Some("default")),
                    spec: EarlySpec {
                        driver_name: pool.driver.clone(),
                        storage_class_name: class.to_owned(),
                        // An empty topology means no node here, so all nodes are listed.
                        node_topology: selector(&pool.reach).or_else(all_nodes),
                    },
                    status: EarlyStatus {
                        available_capacity: Some(figure.bytes.to_string()),
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

fn by_name(figure: &Figure) -> ByClass {
    let name = match &figure.of {
        Of::Class(name) => name,
        Of::Inline => EPHEMERAL,
        Of::Others => FALLBACK,
    };
    by_class(name, figure)
}

fn by_class(name: &str, figure: &Figure) -> ByClass {
    ByClass {
        storage_class_name: name.to_owned(),
        capacity: Some(figure.bytes.to_string()),
        expiry_time: figure.until.map(moment),
    }
}

/// Either a topology or a node list, never both.
fn split(reach: &Reach) -> (Option<NodeSelector>, Option<Vec<String>>) {
    match reach {
        Reach::Cluster => (None, None),
        Reach::Nodes(names) => (None, Some(names.iter().cloned().collect())),
        Reach::Terms(selector) => (Some(selector.clone()), None),
    }
}
