//! Regression tests for bugs of external-provisioner that no case can show, because polls hide the bug or the test needs an object of
//! a second client. A publisher with the bug fails the test.

use capacity_publisher::Options;
use fake_apiserver::Authorization;
use fake_csi::Pool;
use serde_json::{Value, json};

use super::cluster::{Cluster, DRIVER, KEY, NAMESPACE, segment};
use super::permissions::{create_owners, owned};

fn objects(cluster: &Cluster) -> Vec<Value> {
    let found = cluster.admin.list(&cluster.capacities()).unwrap().items;
    found.iter().map(|object| (**object).clone()).collect()
}

/// If an existing object has another controller, one write corrects capacity and owner. Appending an owner instead would leave the
/// capacity wrong, because the API server rejects an object with two controllers.
#[tokio::test(flavor = "multi_thread")]
async fn another_controller_is_replaced_and_does_not_block_the_update() {
    let cluster = Cluster::start(1, 1, Authorization::AlwaysAllow).await;
    create_owners(&cluster);
    let place = fake_apiserver::ResourceRef::new("apps", "statefulsets")
        .namespace(NAMESPACE)
        .name("publisher");
    let old = cluster.admin.get(&place).unwrap();
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "publisher", "uid": old["metadata"]["uid"], "controller": true,
    });
    let labels = json!({
        "csi.storage.k8s.io/drivername": DRIVER, "csi.storage.k8s.io/managed-by": "external-provisioner",
    });
    cluster.create(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "storageClassName": "c0", "capacity": "1",
        "metadata": {"name": "from-before", "namespace": NAMESPACE, "labels": labels, "ownerReferences": [owner]},
        "nodeTopology": {"matchLabels": {KEY: "n0"}},
    }));
    let publisher = cluster.publish("publisher", owned(&cluster, "publisher-1-a", 2));
    cluster
        .until(|cluster| cluster.count("MODIFIED csistoragecapacities") == 1)
        .await;
    let found = objects(&cluster);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["capacity"], "1Gi");
    let owners = found[0]["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(
        (owners.len(), &owners[0]["kind"]),
        (1, &json!("Deployment")),
        "{owners:?}"
    );
    publisher.stop().await;
}

/// With several topology keys, the segment of a node must be found whatever the order of the keys. With the bug, a new volume triggers
/// no refresh after every second start of the publisher.
#[tokio::test(flavor = "multi_thread")]
async fn a_volume_refreshes_its_segment_after_every_start() {
    let keys = ["zone", "rack", "region", "building"];
    let cluster = Cluster::with_keys(&keys, 1, 1, Authorization::AlwaysAllow).await;
    cluster
        .driver
        .set_pool(Pool::linear(segment(&keys, "n0"), 1 << 30, None));
    for start in 1..=6 {
        let publisher = cluster.publish(
            "publisher",
            Options {
                node_deployment: true,
                node_name: Some("n0".to_owned()),
                ..cluster.options()
            },
        );
        cluster
            .until(|cluster| cluster.count("GetCapacity OK") == 2 * start - 1)
            .await;
        cluster.create(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": format!("data-{start}"), "namespace": NAMESPACE,
                "annotations": {"volume.kubernetes.io/selected-node": "n0"},
            },
            "spec": {
                "storageClassName": "c0", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}},
            },
        }));
        cluster
            .until(|cluster| cluster.count("GetCapacity OK") == 2 * start)
            .await;
        publisher.stop().await;
    }
}

/// For a driver without topology, `accessible_topology` must be unset: an empty field has another meaning (CSI, GetCapacityRequest).
#[tokio::test(flavor = "multi_thread")]
async fn a_driver_without_topology_gets_no_accessible_topology() {
    let cluster = Cluster::with_keys(&[], 1, 2, Authorization::AlwaysAllow).await;
    let publisher = cluster.publish("publisher", cluster.options());
    cluster.until_published(2).await;
    assert_eq!(cluster.count("GetCapacity OK"), 2);
    assert_eq!(cluster.count("GetCapacity without topology"), 2);
    publisher.stop().await;
}
