//! Leader election of the publisher, observed through the Lease.

use capacity_publisher::{LeaderElectionOptions, Options};
use fake_apiserver::{Authorization, ResourceRef};

use super::cluster::{Cluster, NAMESPACE, free_address, get, served_at, value};

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_leader_releases_its_lease_and_the_next_one_adopts_its_objects() {
    let cluster = Cluster::start(1, 1, Authorization::AlwaysAllow).await;
    let address = free_address().await;
    let elected = || Options {
        election: LeaderElectionOptions {
            enabled: true,
            namespace: Some(NAMESPACE.to_owned()),
            ..LeaderElectionOptions::default()
        },
        ..cluster.options()
    };
    let first = cluster.publish(
        "first",
        Options {
            http: served_at(address),
            ..elected()
        },
    );
    cluster.until_published(1).await;
    let (status, body) = get(address, "/healthz/leader-election").await;
    assert!(status.contains("200") && body.contains("ok"), "{status} {body}");
    let (_, text) = get(address, "/metrics").await;
    assert_eq!(
        value(&text, "leader_election_master_status{name=\"\"}"),
        Some(1.0),
        "{text}"
    );
    let place = ResourceRef::new("coordination.k8s.io", "leases")
        .namespace(NAMESPACE)
        .name("disk-example-com");
    let lease = cluster.admin.get(&place).unwrap();
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 15);
    first.stop().await;
    assert_eq!(cluster.admin.get(&place).unwrap()["spec"]["holderIdentity"], "");
    // The second instance publishes within less than the lease duration of 15 s, because the first instance released the lease.
    let second = cluster.publish("second", elected());
    cluster.create_class(1);
    cluster.until_published(2).await;
    assert_eq!(cluster.admin.get(&place).unwrap()["spec"]["leaseTransitions"], 1);
    assert_eq!(cluster.count("ADDED csistoragecapacities"), 2);
    second.stop().await;
}
