//! The clusters of the experiments: the driver of the KEP's example, a driver whose storage a zone shares, and the recipe for each.

use capacity_types::Labels;
use regex::Regex;

use super::recipe::{Object, Readiness, Recipe, Rewrite};
use super::world::{Driver, Group, Pod, Scope, Tells, World};

/// What a volume takes of a node that has as much: all.
pub(super) const WHOLE: u64 = 10;
/// Pods that wait, beside one that fills the first node.
pub(super) const PODS: usize = 5;
/// The zone of the first group.
pub(super) const HERE: &str = "a";
/// A zone without a node.
pub(super) const ELSEWHERE: &str = "b";

/// The names of everything in a cluster with local storage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    pub(super) driver: &'static str,
    pub(super) key: &'static str,
    pub(super) class: &'static str,
    pub(super) group: &'static str,
}

/// Those of the KEP's example.
pub(super) const HOSTPATH: Names = Names {
    driver: "hostpath.csi.k8s.io",
    key: "topology.hostpath.csi/node",
    class: "local",
    group: "aks-workerpool",
};

/// Others.
pub(super) const OTHERS: Names = Names {
    driver: "disk.example.com",
    key: "disk.example.com/host",
    class: "fast",
    group: "storage-nodes",
};

/// The driver whose storage a zone shares.
pub(super) const ZONAL: Names = Names {
    driver: "zonal.example.com",
    key: "topology.zonal.example.com/zone",
    class: "network",
    group: "net",
};

impl Names {
    /// Each node has storage for one volume, two rounds after it came.
    pub(super) fn driver(&self) -> Driver {
        Driver {
            name: self.driver.to_owned(),
            key: self.key.to_owned(),
            classes: vec![self.class.to_owned()],
            scope: Scope::Node,
            delay: 2,
            disks: vec![WHOLE],
            tells: Tells::Total,
        }
    }

    /// A group with so many nodes at first.
    pub(super) fn group(&self, least: usize) -> Group {
        Group {
            least,
            ..Group::new(self.group, HERE)
        }
    }

    /// So many pods with a volume of that class.
    pub(super) fn pods(&self, count: usize, bytes: u64) -> Vec<Pod> {
        let class = self.class.to_owned();
        vec![Pod { class, bytes }; count]
    }

    /// The segment of imagined nodes.
    pub(super) fn template(&self) -> Labels {
        [(self.key.to_owned(), format!("{}-template", self.group))].into()
    }

    /// The replacement of the KEP: whatever follows the name of the group becomes `-template`.
    pub(super) fn rewrite(&self) -> Vec<Rewrite> {
        let escaped = regex::escape(&format!("{}={}", self.key, self.group));
        let search = Regex::new(&format!("^{escaped}.*"));
        let rewrite = |search| Rewrite {
            search,
            replacement: format!("{}={}-template", self.key, self.group),
        };
        search.map(rewrite).into_iter().collect()
    }

    /// The object for imagined nodes.
    pub(super) fn object(&self, class: &str, bytes: u64) -> Object {
        Object {
            class: class.to_owned(),
            segment: self.template(),
            bytes,
        }
    }

    /// All that the KEP lists.
    pub(super) fn recipe(&self) -> Recipe {
        Recipe {
            rewrites: self.rewrite(),
            pool_labels: vec![(self.group.to_owned(), self.template())],
            objects: vec![self.object(self.class, WHOLE)],
            readiness: Readiness::Counterparts,
        }
    }

    /// Local storage: one node at first, which the first pod fills, and pods that wait.
    pub(super) fn local(&self) -> World {
        World {
            groups: vec![self.group(1)],
            drivers: vec![self.driver()],
            pods: self.pods(PODS + 1, WHOLE),
        }
    }
}

/// Storage of a zone, with room for all; nodes take one pod each. `least` of them are there at first.
pub(super) fn zonal(least: usize, zone: &str) -> World {
    let driver = Driver {
        scope: Scope::Zone,
        disks: vec![100 * WHOLE],
        ..ZONAL.driver()
    };
    let group = Group {
        least,
        slots: 1,
        ..Group::new(ZONAL.group, zone)
    };
    World {
        groups: vec![group],
        drivers: vec![driver],
        pods: ZONAL.pods(PODS + least, WHOLE),
    }
}

/// The label of a zone's storage in the configuration of the pool.
pub(super) fn zone_label(zone: &str) -> Recipe {
    let label = (ZONAL.key.to_owned(), zone.to_owned());
    Recipe {
        pool_labels: vec![(ZONAL.group.to_owned(), [label].into())],
        readiness: Readiness::Counterparts,
        ..Recipe::default()
    }
}

/// The same, and an object that somebody wrote for the zone.
pub(super) fn zone_object(zone: &str) -> Recipe {
    Recipe {
        objects: vec![Object {
            class: ZONAL.class.to_owned(),
            segment: [(ZONAL.key.to_owned(), zone.to_owned())].into(),
            bytes: 100 * WHOLE,
        }],
        ..zone_label(zone)
    }
}
