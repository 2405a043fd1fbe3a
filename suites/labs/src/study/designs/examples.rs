//! The three examples of the KEP: local storage, classes with different overhead, and storage in two regions.

use super::input_cluster::{
    Class, Driver, InputCluster, Node, NodeAccess, Pool, PoolCapacity, VolumeKind, VolumeRequest,
};

/// The region label, and its deprecated key of 2019.
pub(super) const REGION: &str = "topology.kubernetes.io/region";
pub(super) const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";

const GIGA: u64 = 1_000_000_000;

/// The three examples of the KEP, with `region` as the key of the region label.
pub(super) fn clusters(region: &str) -> [InputCluster; 3] {
    [local(), class_overhead_cluster(), two_region_cluster(region)]
}

/// Two nodes with local storage, whose capacity is the same for every class.
pub(super) fn local() -> InputCluster {
    let mut cluster = cluster_with_driver("hostpath.csi.k8s.io", &["fast"]);
    for (name, giga) in [("node-1", 256), ("node-2", 512)] {
        cluster.nodes.push(Node::new(name, &[]));
        add_pool(
            &mut cluster,
            name,
            NodeAccess::node(name),
            &[(VolumeKind::Fallback, giga)],
        );
    }
    cluster
}

/// Two nodes, one of which has storage. Mirrored volumes use twice their size, so the class `mirrored` has half the capacity.
fn class_overhead_cluster() -> InputCluster {
    let mut cluster = cluster_with_driver("lvm", &["striped", "mirrored"]);
    cluster.nodes = vec![Node::new("node-1", &[]), Node::new("node-2", &[])];
    let capacities = [
        (VolumeKind::class("striped"), 256),
        (VolumeKind::class("mirrored"), 128),
    ];
    add_pool(&mut cluster, "node-1", NodeAccess::node("node-1"), &capacities);
    cluster
}

fn two_region_cluster(label: &str) -> InputCluster {
    let mut cluster = cluster_with_driver("pd.csi.storage.gke.io", &["standard"]);
    for (node, region) in [("e1", "us-east-1"), ("e2", "us-east-1"), ("w1", "us-west-1")] {
        cluster.nodes.push(Node::new(node, &[(label, region)]));
    }
    for (region, giga) in [("us-east-1", 128), ("us-west-1", 256)] {
        add_pool(
            &mut cluster,
            region,
            NodeAccess::label(label, region),
            &[(VolumeKind::Fallback, giga)],
        );
    }
    cluster
}

fn cluster_with_driver(driver: &str, classes: &[&str]) -> InputCluster {
    let class = |name: &&str| Class {
        name: (*name).to_owned(),
        driver: driver.to_owned(),
    };
    InputCluster {
        drivers: vec![Driver {
            name: driver.to_owned(),
            tracks: Some(true),
        }],
        classes: classes.iter().map(class).collect(),
        ..InputCluster::default()
    }
}

fn add_pool(
    cluster: &mut InputCluster,
    name: &str,
    node_access: NodeAccess,
    capacities: &[(VolumeKind, u64)],
) {
    let capacity = |(of, giga): &(VolumeKind, u64)| PoolCapacity::new(of.clone(), giga * GIGA);
    cluster.pools.push(Pool {
        name: name.to_owned(),
        driver: cluster.drivers[0].name.clone(),
        node_access,
        capacities: capacities.iter().map(capacity).collect(),
    });
}

/// Requests for volumes of each class, with sizes just below, at and above every capacity.
pub(super) fn volume_requests(cluster: &InputCluster) -> Vec<VolumeRequest> {
    let capacities = cluster.pools.iter().flat_map(|pool| &pool.capacities);
    let bytes: Vec<u64> = capacities.map(|capacity| capacity.bytes).collect();
    let sizes = bytes.iter().flat_map(|bytes| [bytes - 1, *bytes, bytes + 1]);
    let of_class = |class: &Class| {
        let volume_request = |bytes| VolumeRequest::new(&class.driver, Some(&class.name), bytes);
        sizes.clone().map(volume_request).collect::<Vec<_>>()
    };
    cluster.classes.iter().flat_map(of_class).collect()
}
