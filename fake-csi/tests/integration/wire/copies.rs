//! Clones, volumes from snapshots, and mutable parameters: supported only if advertised, and as the specification requires.

use csi_proto::v1::{
    ControllerModifyVolumeRequest, CreateVolumeRequest, VolumeContentSource,
    controller_service_capability::rpc,
    volume_content_source::{SnapshotSource, Type, VolumeSource},
};
use fake_csi::{DriverSpec, Method, Snapshot};
use tonic::Code;

use super::{World, identity::advertised_rpcs, pairs, pool, spec, volume, with_topology, zone};

async fn world_with_clones() -> World {
    let world = World::of(DriverSpec {
        advertise_clone_volume: true,
        mutable_parameters: ["iops", "tier"].map(str::to_owned).into(),
        ..spec()
    })
    .await;
    world.driver.set_pool(pool("a", 100, None));
    world
}

fn clone_request(name: &str, bytes: u64, of: &str) -> CreateVolumeRequest {
    let source = Type::Volume(VolumeSource {
        volume_id: of.to_owned(),
    });
    CreateVolumeRequest {
        volume_content_source: Some(VolumeContentSource { r#type: Some(source) }),
        ..volume(name, bytes)
    }
}

async fn create_error_code(world: &World, request: CreateVolumeRequest) -> Option<Code> {
    world.create(request).await.err().map(|status| status.code())
}

#[tokio::test]
async fn clones_and_mutable_parameters_are_advertised_only_if_configured() {
    let advertised = advertised_rpcs(&world_with_clones().await).await;
    assert!(
        advertised.ends_with(&[rpc::Type::CloneVolume, rpc::Type::ModifyVolume]),
        "{advertised:?}"
    );
    let old = World::of(DriverSpec {
        advertise_clone_volume: true,
        mutable_parameters: ["iops", "tier"].map(str::to_owned).into(),
        version: "1.8".parse().unwrap(),
        ..spec()
    })
    .await;
    assert!(
        !advertised_rpcs(&old).await.contains(&rpc::Type::ModifyVolume),
        "mutable parameters were added in 1.9"
    );
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let made = world.create(volume("v", 10)).await.unwrap();
    assert_eq!(
        create_error_code(&world, clone_request("c", 10, &made.volume_id)).await,
        Some(Code::InvalidArgument)
    );
    let request = CreateVolumeRequest {
        mutable_parameters: pairs(&[("iops", "9")]),
        ..volume("m", 10)
    };
    assert_eq!(
        create_error_code(&world, request).await,
        Some(Code::InvalidArgument)
    );
    assert_eq!(
        modify(&world, &made.volume_id, "9").await,
        Err(Code::Unimplemented)
    );
}

#[tokio::test]
async fn clone_names_its_source_and_is_at_least_as_large() {
    let world = world_with_clones().await;
    let made = world.create(volume("v", 40)).await.unwrap();
    let copied = world
        .create(clone_request("c", 10, &made.volume_id))
        .await
        .unwrap();
    assert_eq!(copied.capacity_bytes, 40);
    let source = copied.content_source.and_then(|source| source.r#type);
    let expected = Type::Volume(VolumeSource {
        volume_id: made.volume_id.clone(),
    });
    assert_eq!(source, Some(expected));
    assert_eq!(world.last_event().source.as_ref(), Some(&made.volume_id));
    assert_eq!(
        create_error_code(&world, clone_request("c", 10, &made.volume_id)).await,
        None,
        "a repeated call returns the same volume"
    );
    assert_eq!(
        create_error_code(&world, volume("c", 40)).await,
        Some(Code::AlreadyExists)
    );
    assert_eq!(
        create_error_code(&world, clone_request("d", 10, &made.volume_id)).await,
        Some(Code::ResourceExhausted)
    );
    assert_eq!(
        create_error_code(&world, clone_request("e", 10, "nothing")).await,
        Some(Code::NotFound)
    );
    let request = snapshot_restore_request("f", 1, "s");
    assert_eq!(
        create_error_code(&world, request).await,
        Some(Code::InvalidArgument)
    );
}

fn snapshot_restore_request(name: &str, bytes: u64, from: &str) -> CreateVolumeRequest {
    let source = Type::Snapshot(SnapshotSource {
        snapshot_id: from.to_owned(),
    });
    CreateVolumeRequest {
        volume_content_source: Some(VolumeContentSource { r#type: Some(source) }),
        ..volume(name, bytes)
    }
}

#[tokio::test]
async fn volume_from_a_snapshot_is_created_in_its_segment() {
    let snapshot = Snapshot {
        segment: zone("a"),
        bytes: 40,
    };
    let world = World::of(DriverSpec {
        snapshots: [("s".to_owned(), snapshot)].into(),
        ..spec()
    })
    .await;
    assert!(
        advertised_rpcs(&world)
            .await
            .contains(&rpc::Type::CreateDeleteSnapshot)
    );
    world.driver.set_pool(pool("a", 100, None));
    world.driver.set_pool(pool("b", 1000, None));
    let request = with_topology(snapshot_restore_request("v", 10, "s"), &["b", "a"], &["b"]);
    let made = world.create(request).await.unwrap();
    assert_eq!(made.capacity_bytes, 40, "the snapshot's size");
    assert_eq!(made.accessible_topology[0].segments, zone("a"));
    let source = made.content_source.and_then(|source| source.r#type);
    assert!(matches!(source, Some(Type::Snapshot(it)) if it.snapshot_id == "s"));
    let elsewhere = with_topology(snapshot_restore_request("w", 40, "s"), &["b"], &["b"]);
    assert_eq!(
        create_error_code(&world, elsewhere).await,
        Some(Code::ResourceExhausted)
    );
    assert_eq!(
        create_error_code(&world, snapshot_restore_request("x", 61, "s")).await,
        Some(Code::ResourceExhausted)
    );
    assert_eq!(
        create_error_code(&world, snapshot_restore_request("y", 40, "gone")).await,
        Some(Code::NotFound)
    );
}

async fn modify(world: &World, id: &str, iops: &str) -> Result<(), Code> {
    let request = ControllerModifyVolumeRequest {
        volume_id: id.to_owned(),
        mutable_parameters: pairs(&[("iops", iops)]),
        ..Default::default()
    };
    let answer = world.controller.clone().controller_modify_volume(request).await;
    answer.map(|_| ()).map_err(|status| status.code())
}

#[tokio::test]
async fn modify_changes_named_parameters_and_leaves_others() {
    let world = world_with_clones().await;
    let request = CreateVolumeRequest {
        mutable_parameters: pairs(&[("iops", "1"), ("tier", "gold")]),
        secrets: pairs(&[("password", "hidden")]),
        ..volume("v", 10)
    };
    let made = world.create(request).await.unwrap();
    let event = world.last_event();
    assert_eq!(
        event.mutable_parameters,
        pairs(&[("iops", "1"), ("tier", "gold")])
    );
    assert_eq!(event.secrets, ["password"], "the key, never the value");
    assert_eq!(modify(&world, &made.volume_id, "2").await, Ok(()));
    assert_eq!(world.last_event().method, Method::ControllerModifyVolume);
    let parameters = &world.driver.volumes()[0].mutable_parameters;
    assert_eq!(*parameters, pairs(&[("iops", "2"), ("tier", "gold")]));
    assert_eq!(modify(&world, "nothing", "2").await, Err(Code::NotFound));
}

#[tokio::test]
async fn unknown_mutable_parameters_are_rejected() {
    let world = world_with_clones().await;
    let made = world.create(volume("v", 10)).await.unwrap();
    let unknown = || pairs(&[("iops", "1"), ("colour", "red")]);
    let request = CreateVolumeRequest {
        mutable_parameters: unknown(),
        ..volume("w", 10)
    };
    assert_eq!(
        create_error_code(&world, request).await,
        Some(Code::InvalidArgument)
    );
    let request = ControllerModifyVolumeRequest {
        volume_id: made.volume_id,
        mutable_parameters: unknown(),
        ..Default::default()
    };
    let refused = world.controller.clone().controller_modify_volume(request).await;
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    let parameters = &world.driver.volumes()[0].mutable_parameters;
    assert!(parameters.is_empty(), "nothing must be set: {parameters:?}");
}
