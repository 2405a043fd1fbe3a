//! The clusters of the experiments: the driver of the KEP's example, a driver with zonal storage, and the configuration for each.

use capacity_types::Labels;
use regex::Regex;

use super::input_cluster::{Driver, Group, InputCluster, Pod, ReportedCapacity, Scope};
use super::recipe::{Object, Readiness, Recipe, Rewrite};

/// Storage capacity of a node, and size of a volume that uses all of it.
pub(super) const NODE_CAPACITY: u64 = 10;
/// Number of pending pods, not counting the pod that fills the first node.
pub(super) const PODS: usize = 5;
pub(super) const FIRST_ZONE: &str = "a";
pub(super) const EMPTY_ZONE: &str = "b";

/// Names of a driver, its topology key, its StorageClass and its node group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    pub(super) driver: &'static str,
    pub(super) key: &'static str,
    pub(super) class: &'static str,
    pub(super) group: &'static str,
}

/// The names in the KEP's example, which uses csi-driver-host-path.
pub(super) const HOSTPATH: Names = Names {
    driver: "hostpath.csi.k8s.io",
    key: "topology.hostpath.csi/node",
    class: "local",
    group: "aks-workerpool",
};

pub(super) const OTHER_NAMES: Names = Names {
    driver: "disk.example.com",
    key: "disk.example.com/host",
    class: "fast",
    group: "storage-nodes",
};

pub(super) const ZONAL: Names = Names {
    driver: "zonal.example.com",
    key: "topology.zonal.example.com/zone",
    class: "network",
    group: "net",
};

impl Names {
    /// A driver with storage for one volume per node, which starts two rounds after the node was added.
    pub(super) fn driver(&self) -> Driver {
        Driver {
            name: self.driver.to_owned(),
            key: self.key.to_owned(),
            classes: vec![self.class.to_owned()],
            scope: Scope::Node,
            delay: 2,
            disks: vec![NODE_CAPACITY],
            reports: ReportedCapacity::Total,
        }
    }

    pub(super) fn group(&self, min_size: usize) -> Group {
        Group {
            min_size,
            ..Group::new(self.group, FIRST_ZONE)
        }
    }

    pub(super) fn pods(&self, count: usize, bytes: u64) -> Vec<Pod> {
        let class = self.class.to_owned();
        vec![Pod { class, bytes }; count]
    }

    /// The topology segment of template nodes, as node labels.
    pub(super) fn template(&self) -> Labels {
        [(self.key.to_owned(), format!("{}-template", self.group))].into()
    }

    /// The rewrite rule of the KEP, which replaces everything after the group name by `-template`.
    pub(super) fn rewrite(&self) -> Vec<Rewrite> {
        let escaped = regex::escape(&format!("{}={}", self.key, self.group));
        let search = Regex::new(&format!("^{escaped}.*"));
        let rewrite = |search| Rewrite {
            search,
            replacement: format!("{}={}-template", self.key, self.group),
        };
        search.map(rewrite).into_iter().collect()
    }

    /// The manually created capacity object for template nodes.
    pub(super) fn object(&self, class: &str, bytes: u64) -> Object {
        Object {
            class: class.to_owned(),
            segment: self.template(),
            bytes,
        }
    }

    /// The full configuration of the autoscaler in the KEP.
    pub(super) fn recipe(&self) -> Recipe {
        Recipe {
            rewrites: self.rewrite(),
            pool_labels: vec![(self.group.to_owned(), self.template())],
            objects: vec![self.object(self.class, NODE_CAPACITY)],
            readiness: Readiness::Counterparts,
        }
    }

    /// A cluster with local storage: one initial node, which the first pod fills, and pending pods.
    pub(super) fn local(&self) -> InputCluster {
        InputCluster {
            groups: vec![self.group(1)],
            drivers: vec![self.driver()],
            pods: self.pods(PODS + 1, NODE_CAPACITY),
        }
    }
}

/// A cluster with sufficient zonal storage; each node runs one pod. `min_size`: initial number of nodes.
pub(super) fn zonal(min_size: usize, zone: &str) -> InputCluster {
    let driver = Driver {
        scope: Scope::Zone,
        disks: vec![100 * NODE_CAPACITY],
        ..ZONAL.driver()
    };
    let group = Group {
        min_size,
        slots: 1,
        ..Group::new(ZONAL.group, zone)
    };
    InputCluster {
        groups: vec![group],
        drivers: vec![driver],
        pods: ZONAL.pods(PODS + min_size, NODE_CAPACITY),
    }
}

/// Configures the zone label for the template nodes of the pool.
pub(super) fn zone_label(zone: &str) -> Recipe {
    let label = (ZONAL.key.to_owned(), zone.to_owned());
    Recipe {
        pool_labels: vec![(ZONAL.group.to_owned(), [label].into())],
        readiness: Readiness::Counterparts,
        ..Recipe::default()
    }
}

/// Configures the zone label for the template nodes of the pool, and a manually created capacity object for the zone.
pub(super) fn zone_object(zone: &str) -> Recipe {
    Recipe {
        objects: vec![Object {
            class: ZONAL.class.to_owned(),
            segment: [(ZONAL.key.to_owned(), zone.to_owned())].into(),
            bytes: 100 * NODE_CAPACITY,
        }],
        ..zone_label(zone)
    }
}
