//! ControllerExpandVolume: allocates storage, never shrinks, and fails with the right code.

use csi_proto::v1::{CapacityRange, ControllerExpandVolumeRequest};
use fake_csi::{Answer, DriverSpec, Method};
use tonic::Code;

use super::{World, mirrored, pairs, pool, signed, spec, volume, zone};

async fn expand(world: &World, id: &str, required: u64, limit: u64) -> Result<i64, Code> {
    let request = ControllerExpandVolumeRequest {
        volume_id: id.to_owned(),
        capacity_range: Some(CapacityRange {
            required_bytes: signed(required),
            limit_bytes: signed(limit),
        }),
        ..Default::default()
    };
    let answer = world.controller.clone().controller_expand_volume(request).await;
    answer
        .map(|answer| answer.into_inner().capacity_bytes)
        .map_err(|status| status.code())
}

#[tokio::test]
async fn expansion_allocates_the_cost_of_the_added_bytes() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    world.driver.add_cost(mirrored()).unwrap();
    let mut request = volume("v", 10);
    request.parameters = pairs(&[("kind", "mirrored")]);
    let made = world.create(request).await.unwrap();
    assert_eq!(expand(&world, &made.volume_id, 30, 0).await, Ok(30));
    assert_eq!(
        world.get_capacity(None, &[]).await.unwrap().available_capacity,
        40
    );
    let event = world
        .events()
        .into_iter()
        .find(|event| event.method == Method::ControllerExpandVolume)
        .unwrap();
    assert_eq!(
        (event.segment, event.volume_name.as_deref(), event.required_bytes),
        (Some(zone("a")), Some("v"), Some(30))
    );
    assert_eq!(
        event.outcome,
        Ok(Answer::Volume {
            bytes: 30,
            segment: Some(zone("a"))
        })
    );

    assert_eq!(
        expand(&world, &made.volume_id, 20, 0).await,
        Ok(30),
        "it never shrinks"
    );
    assert_eq!(expand(&world, &made.volume_id, 50, 0).await, Ok(50));
    assert_eq!(
        expand(&world, &made.volume_id, 51, 0).await,
        Err(Code::OutOfRange),
        "the pool is too small for this size"
    );
    world.delete(&made.volume_id).await.unwrap();
    assert_eq!(
        world.get_capacity(None, &[]).await.unwrap().available_capacity,
        100,
        "all storage is released"
    );
}

#[tokio::test]
async fn failed_expansion_distinguishes_lack_of_space_from_an_impossible_size() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, Some(80)));
    let small = world.create(volume("small", 10)).await.unwrap();
    world.create(volume("large", 60)).await.unwrap();
    assert_eq!(
        expand(&world, &small.volume_id, 41, 0).await,
        Err(Code::ResourceExhausted)
    );
    assert_eq!(
        expand(&world, &small.volume_id, 81, 0).await,
        Err(Code::OutOfRange),
        "above the largest extent"
    );
    assert_eq!(
        expand(&world, &small.volume_id, 20, 15).await,
        Err(Code::OutOfRange),
        "crossed bounds"
    );
    assert_eq!(
        expand(&world, &small.volume_id, 0, 9).await,
        Err(Code::OutOfRange),
        "limit below the current size"
    );
    assert_eq!(expand(&world, "other", 1, 0).await, Err(Code::NotFound));
    assert_eq!(expand(&world, "", 1, 0).await, Err(Code::InvalidArgument));
    let rangeless = ControllerExpandVolumeRequest {
        volume_id: small.volume_id.clone(),
        ..Default::default()
    };
    let refused = world
        .controller
        .clone()
        .controller_expand_volume(rangeless)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(
        expand(&world, &small.volume_id, 40, 40).await,
        Ok(40),
        "all remaining storage"
    );
}

#[tokio::test]
async fn expansion_is_unimplemented_without_the_capability() {
    let world = World::of(DriverSpec {
        advertise_expand_volume: false,
        ..spec()
    })
    .await;
    assert_eq!(expand(&world, "v", 1, 0).await, Err(Code::Unimplemented));
}
