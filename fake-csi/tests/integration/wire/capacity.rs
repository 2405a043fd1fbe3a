//! GetCapacity: exact values by segment and parameters, and its events.

use fake_csi::{Answer, DriverSpec, Method};
use tonic::Code;

use super::{GIB, World, mirrored, pairs, pool, signed, spec, volume, with_topology, zone};

#[tokio::test]
async fn returns_the_capacity_of_a_segment_for_a_class() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 256 * GIB, None));
    world.driver.set_pool(pool("b", 7, Some(5)));
    world.driver.add_cost(mirrored()).unwrap();

    let plain = world
        .get_capacity(Some(zone("a")), &[("kind", "striped")])
        .await
        .unwrap();
    assert_eq!(
        (plain.available_capacity, plain.maximum_volume_size),
        (signed(256 * GIB), None)
    );
    let halved = world
        .get_capacity(Some(zone("a")), &[("kind", "mirrored")])
        .await
        .unwrap();
    assert_eq!(halved.available_capacity, signed(128 * GIB));
    let odd = world
        .get_capacity(Some(zone("b")), &[("kind", "mirrored")])
        .await
        .unwrap();
    assert_eq!(
        (odd.available_capacity, odd.maximum_volume_size),
        (3, Some(2)),
        "half bytes round down"
    );
    let unknown = world.get_capacity(Some(zone("c")), &[]).await.unwrap();
    assert_eq!(
        (unknown.available_capacity, unknown.maximum_volume_size),
        (0, None)
    );
}

#[tokio::test]
async fn finer_segment_matches_the_pool_and_no_topology_matches_all_pools() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    world.driver.set_pool(pool("b", 20, None));
    let available = async |segment| world.get_capacity(segment, &[]).await.unwrap().available_capacity;
    assert_eq!(available(Some(pairs(&[("zone", "a"), ("rack", "3")]))).await, 100);
    assert_eq!(available(None).await, 120);
    assert_eq!(
        available(Some(pairs(&[]))).await,
        120,
        "an empty topology restricts nothing"
    );
}

#[tokio::test]
async fn capacity_changes_with_volumes_and_pools() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let available = async || {
        world
            .get_capacity(Some(zone("a")), &[])
            .await
            .unwrap()
            .available_capacity
    };
    let made = world
        .create(with_topology(volume("v", 30), &["a"], &["a"]))
        .await
        .unwrap();
    assert_eq!(available().await, 70);
    world.driver.set_pool(pool("a", 50, None));
    assert_eq!(available().await, 20);
    world.delete(&made.volume_id).await.unwrap();
    assert_eq!(available().await, 50);
    world.driver.remove_pool(&zone("a"));
    assert_eq!(available().await, 0);
}

#[tokio::test]
async fn get_capacity_is_unimplemented_without_the_capability() {
    let world = World::of(DriverSpec {
        advertise_get_capacity: false,
        ..spec()
    })
    .await;
    let refused = world.get_capacity(None, &[]).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented);
    assert_eq!(world.last_event().outcome.unwrap_err().code, "UNIMPLEMENTED");
}

#[tokio::test]
async fn observer_receives_request_and_response() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, Some(40)));
    world
        .get_capacity(Some(zone("a")), &[("kind", "fast")])
        .await
        .unwrap();
    let event = world.last_event();
    assert_eq!(event.method, Method::GetCapacity);
    assert_eq!((event.node, event.segment), (None, Some(zone("a"))));
    assert_eq!(event.parameters, pairs(&[("kind", "fast")]));
    assert_eq!(
        event.outcome,
        Ok(Answer::Capacity {
            available: 100,
            maximum: Some(40),
            minimum: None
        })
    );
    world.get_capacity(None, &[]).await.unwrap();
    assert_eq!(
        world.last_event().segment,
        None,
        "an unset topology differs from an empty one"
    );
}
