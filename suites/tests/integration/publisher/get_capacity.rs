//! Number and timing of the publisher's GetCapacity calls.

use csi_proto::v1::{
    CapacityRange, ControllerExpandVolumeRequest, CreateVolumeRequest, VolumeCapability,
    volume_capability::{AccessMode, AccessType, BlockVolume, access_mode::Mode},
};
use fake_apiserver::Authorization;
use fake_csi::Pool;

use super::cluster::{Cluster, KEY};

#[tokio::test(flavor = "multi_thread")]
async fn at_start_each_class_and_segment_gets_one_call_and_one_write() {
    let cluster = Cluster::start(5, 2, Authorization::AlwaysAllow).await;
    let publisher = cluster.publish("publisher", cluster.options());
    cluster.until_published(10).await;
    // A workqueue key that is queued twice would cause a second GetCapacity call, before the call for the class created here.
    cluster.create_class(9);
    cluster.until_published(15).await;
    assert_eq!(cluster.count("GetCapacity OK"), 15);
    assert_eq!(cluster.count("ADDED csistoragecapacities"), 15);
    assert_eq!(cluster.count("DELETED csistoragecapacities"), 0);
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expanded_volume_is_observed_by_the_next_poll_only() {
    let cluster = Cluster::start(1, 1, Authorization::AlwaysAllow).await;
    let publisher = cluster.publish("publisher", cluster.options());
    cluster.until_published(1).await;
    let mut driver = cluster.controller().await;
    let capability = VolumeCapability {
        access_type: Some(AccessType::Block(BlockVolume {})),
        access_mode: Some(AccessMode {
            mode: Mode::SingleNodeWriter.into(),
        }),
    };
    let zone = [(KEY.to_owned(), "n0".to_owned())].into();
    cluster.driver.set_pool(Pool::linear(zone, 100, None));
    let range = |required_bytes| {
        Some(CapacityRange {
            required_bytes,
            limit_bytes: 0,
        })
    };
    let made = driver
        .create_volume(CreateVolumeRequest {
            name: "by-somebody".to_owned(),
            capacity_range: range(10),
            volume_capabilities: vec![capability],
            ..Default::default()
        })
        .await
        .unwrap()
        .into_inner();
    driver
        .controller_expand_volume(ControllerExpandVolumeRequest {
            volume_id: made.volume.unwrap().volume_id,
            capacity_range: range(20),
            ..Default::default()
        })
        .await
        .unwrap();
    // A refresh triggered by the expansion would cause a GetCapacity call, before the call for the class created here.
    cluster.create_class(1);
    cluster.until_published(2).await;
    assert_eq!(
        cluster.count("GetCapacity OK"),
        2,
        "one at the start, one for the new class"
    );
    publisher.stop().await;
}
