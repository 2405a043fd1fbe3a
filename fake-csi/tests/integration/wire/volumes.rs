//! CreateVolume, DeleteVolume, ValidateVolumeCapabilities and ListVolumes: topology, idempotence, error codes.

use csi_proto::v1::{
    CapacityRange, CreateVolumeRequest, ListVolumesRequest, ValidateVolumeCapabilitiesRequest,
    VolumeCapability,
};
use fake_csi::Answer;
use tonic::Code;

use super::{World, block, mirrored, mounted, pairs, pool, volume, with_topology, zone};

#[tokio::test]
async fn volume_is_created_in_preferred_then_requisite_segments_only() {
    let world = World::new().await;
    for name in ["a", "b", "c"] {
        world.driver.set_pool(pool(name, 10, None));
    }
    let create_in = async |name: &str, requisite: &[&str], preferred: &[&str]| {
        let made = world
            .create(with_topology(volume(name, 10), requisite, preferred))
            .await;
        made.map(|made| made.accessible_topology[0].segments["zone"].clone())
            .map_err(|status| status.code())
    };
    assert_eq!(create_in("1", &["a", "b"], &["b", "a"]).await, Ok("b".to_owned()));
    assert_eq!(
        create_in("2", &["a", "b"], &["b"]).await,
        Ok("a".to_owned()),
        "the preferred segment is full, so the requisite one is used"
    );
    assert_eq!(
        create_in("3", &["a", "b"], &["b"]).await,
        Err(Code::ResourceExhausted),
        "c has capacity, but is not requisite"
    );
    assert_eq!(
        create_in("4", &[], &["b"]).await,
        Ok("c".to_owned()),
        "without requisite terms any segment is allowed"
    );
    let event = &world.events()[1];
    assert_eq!(
        (event.requisite.len(), event.preferred.clone()),
        (2, vec![zone("b")])
    );
    assert_eq!(
        event.outcome,
        Ok(Answer::Volume {
            bytes: 10,
            segment: Some(zone("a"))
        })
    );
}

#[tokio::test]
async fn volume_allocates_exactly_its_cost_and_releases_it() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 9, None));
    world.driver.add_cost(mirrored()).unwrap();
    let mut request = volume("v", 5);
    request.parameters = pairs(&[("kind", "mirrored")]);
    let refused = world.create(request.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    request.capacity_range = Some(CapacityRange {
        required_bytes: 4,
        limit_bytes: 0,
    });
    let made = world.create(request).await.unwrap();
    assert_eq!(made.capacity_bytes, 4);
    let stored = &world.driver.volumes()[0];
    assert_eq!(
        (stored.bytes, stored.raw_bytes, &stored.name),
        (4, 8, &"v".to_owned())
    );
    world.delete(&made.volume_id).await.unwrap();
    assert!(world.driver.volumes().is_empty());
    assert_eq!(world.create(volume("w", 9)).await.unwrap().capacity_bytes, 9);
}

#[tokio::test]
async fn largest_extent_bounds_the_volume_size() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 10, Some(4)));
    assert_eq!(
        world.create(volume("v", 5)).await.unwrap_err().code(),
        Code::ResourceExhausted
    );
    assert!(world.create(volume("v", 4)).await.is_ok());
}

#[tokio::test]
async fn same_name_returns_the_same_volume_or_already_exists() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let first = world
        .create(with_topology(volume("v", 10), &["a"], &[]))
        .await
        .unwrap();
    assert_eq!(
        world
            .create(with_topology(volume("v", 10), &["a"], &[]))
            .await
            .unwrap(),
        first
    );
    assert_eq!(world.driver.volumes().len(), 1);

    let larger = volume("v", 11);
    let smaller = CreateVolumeRequest {
        capacity_range: Some(CapacityRange {
            required_bytes: 5,
            limit_bytes: 9,
        }),
        ..volume("v", 0)
    };
    let other_parameters = CreateVolumeRequest {
        parameters: pairs(&[("kind", "fast")]),
        ..volume("v", 10)
    };
    let other_use = CreateVolumeRequest {
        volume_capabilities: vec![block()],
        ..volume("v", 10)
    };
    let elsewhere = with_topology(volume("v", 10), &["b"], &[]);
    for (what, request) in [
        ("larger", larger),
        ("smaller", smaller),
        ("parameters", other_parameters),
        ("use", other_use),
        ("topology", elsewhere),
    ] {
        assert_eq!(
            world.create(request).await.map_err(|status| status.code()),
            Err(Code::AlreadyExists),
            "{what}"
        );
    }
}

#[tokio::test]
async fn invalid_arguments_fail_with_the_specified_code() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let range = |required_bytes, limit_bytes| CreateVolumeRequest {
        capacity_range: Some(CapacityRange {
            required_bytes,
            limit_bytes,
        }),
        ..volume("v", 1)
    };
    let capabilities = |volume_capabilities| CreateVolumeRequest {
        volume_capabilities,
        ..volume("v", 1)
    };
    let no_type = VolumeCapability {
        access_type: None,
        ..mounted()
    };
    let no_mode = VolumeCapability {
        access_mode: None,
        ..mounted()
    };
    let long = "x".repeat(129);
    let wide = CreateVolumeRequest {
        parameters: pairs(&[("k", &"x".repeat(4096))]),
        ..volume("v", 1)
    };
    for (what, request, code) in [
        ("no name", volume("", 1), Code::InvalidArgument),
        ("long name", volume(&long, 1), Code::InvalidArgument),
        ("wide parameters", wide, Code::InvalidArgument),
        ("no capabilities", capabilities(vec![]), Code::InvalidArgument),
        (
            "no access type",
            capabilities(vec![no_type]),
            Code::InvalidArgument,
        ),
        (
            "no access mode",
            capabilities(vec![no_mode]),
            Code::InvalidArgument,
        ),
        ("negative size", range(-1, 0), Code::InvalidArgument),
        ("crossed bounds", range(10, 9), Code::OutOfRange),
    ] {
        assert_eq!(
            world.create(request).await.map_err(|status| status.code()),
            Err(code),
            "{what}"
        );
    }
    assert!(world.driver.volumes().is_empty());
    assert_eq!(world.delete("").await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn deleting_twice_succeeds() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let made = world.create(volume("v", 1)).await.unwrap();
    world.delete(&made.volume_id).await.unwrap();
    let event = world.last_event();
    assert_eq!(
        (event.volume_name, event.segment),
        (Some("v".to_owned()), Some(zone("a")))
    );
    world.delete(&made.volume_id).await.unwrap();
    assert_eq!(world.last_event().volume_name, None);
}

#[tokio::test]
async fn validation_confirms_the_capabilities_of_a_volume() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let made = world.create(volume("v", 1)).await.unwrap();
    let validate = async |volume_id: &str, volume_capabilities| {
        let request = ValidateVolumeCapabilitiesRequest {
            volume_id: volume_id.to_owned(),
            volume_capabilities,
            ..Default::default()
        };
        let answer = world
            .controller
            .clone()
            .validate_volume_capabilities(request)
            .await;
        answer
            .map(|answer| answer.into_inner().confirmed.is_some())
            .map_err(|status| status.code())
    };
    assert_eq!(validate(&made.volume_id, vec![mounted()]).await, Ok(true));
    assert_eq!(validate(&made.volume_id, vec![block()]).await, Ok(false));
    assert_eq!(
        validate(&made.volume_id, vec![]).await,
        Err(Code::InvalidArgument)
    );
    assert_eq!(validate("other", vec![mounted()]).await, Err(Code::NotFound));
}

#[tokio::test]
async fn volumes_are_listed_in_pages() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    for name in ["u", "v", "w"] {
        world.create(volume(name, 1)).await.unwrap();
    }
    let list = async |max_entries, token: &str| {
        let request = ListVolumesRequest {
            max_entries,
            starting_token: token.to_owned(),
        };
        let answer = world
            .controller
            .clone()
            .list_volumes(request)
            .await
            .map_err(|status| status.code())?;
        let page = answer.into_inner();
        Ok::<_, Code>((page.entries.len(), page.next_token))
    };
    let (entries, next) = list(2, "").await.unwrap();
    assert_eq!(entries, 2);
    assert_eq!(list(2, &next).await, Ok((1, String::new())));
    assert_eq!(list(0, "").await, Ok((3, String::new())));
    assert_eq!(list(0, "unknown").await, Err(Code::Aborted));
    assert_eq!(list(-1, "").await, Err(Code::InvalidArgument));
}
